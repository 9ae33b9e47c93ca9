#!/bin/bash
# demo.sh: a relay and a publisher that loops the bundled clip, both on this
# machine. Prints where to look and stops both on Ctrl-C.
#
# MOQ_PORT changes the relay's port, MOQ_OPS the address of its metrics, MOQ_CC the
# congestion controller of both.
set -euo pipefail
cd "$(dirname "$0")/.."

host=127.0.0.1
port=${MOQ_PORT:-4443}
ops=${MOQ_OPS:-127.0.0.1:9464}
name=live/demo
url=moqt://$host:$port

relay=(bin/moq-relay --listen "$host:$port" --ops "$ops" --log-level warn)
publisher=(bin/moq-pub --namespace "$name" --input testdata/clip.mp4 --loop --log-level warn "$url")
if [ -n "${MOQ_CC:-}" ]; then
	relay+=(--cc "$MOQ_CC")
	publisher+=(--cc "$MOQ_CC")
fi

# get HOST:PORT PATH prints the body of a page; it fails unless the answer is 200.
get() {
	local status line
	exec 3<>"/dev/tcp/${1%:*}/${1##*:}" || return 1
	printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$2" "$1" >&3
	read -r status <&3 || status=
	while read -r line <&3 && [ "$line" != $'\r' ]; do :; done # headers
	cat <&3
	exec 3>&-
	[[ $status == *' 200 '* ]]
}

# Job control gives each child a process group of its own, so that Ctrl-C
# reaches this script alone and the order of stopping is ours.
set -m
pids=()
stop() {
	trap - INT TERM HUP PIPE EXIT
	local i
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do # publisher first
		kill -TERM "${pids[i]}" 2>/dev/null || continue
		wait "${pids[i]}" || true
	done
}
trap 'stop; exit 0' INT TERM HUP PIPE
trap stop EXIT

"${relay[@]}" </dev/null &
pids+=($!)
for ((try = 0; ; try++)); do
	(get "$ops" /readyz) >/dev/null 2>&1 && break
	kill -0 "${pids[0]}" 2>/dev/null || { echo "demo: the relay ended, see above" >&2; exit 1; }
	[ $try -lt 100 ] || { echo "demo: the relay is not ready after 10 s" >&2; exit 1; }
	sleep 0.1
done

# The relay made its own certificate; its hash is how clients know it.
fingerprint=$(get "$host:$port" /certificate.sha256)
"${publisher[@]}" --tls-fingerprint "$fingerprint" </dev/null &
pids+=($!)

echo
if (get "$host:$port" /) >/dev/null 2>&1; then
	echo "  player    http://$host:$port/"
fi
cat <<END
  relay     $url, namespace $name
  metrics   http://$ops/metrics

  To watch  bin/moq-sub --namespace $name --tls-insecure -o - $url | ffplay -
  Figures   bin/moq-sub --namespace $name --tls-insecure --stats $url

  Ctrl-C stops the relay and the publisher.

END

wait -n || true
echo "demo: the relay or the publisher ended, see above" >&2
exit 1

#!/bin/bash
# demo.sh: a relay and a publisher that loops the bundled clip, both on this
# machine. Prints where to look and stops both on Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."

host=127.0.0.1
port=${MOQ_PORT:-4443}
ops=${MOQ_OPS:-127.0.0.1:9464}
name=live/clip

relay=(bin/moq-relay --listen "$host:$port" --ops "$ops")
publisher=(bin/moq-pub --loop testdata/clip.mp4 --name "$name" "https://$host:$port/" --tls-insecure)
player=http://$host:$port/
metrics=http://$ops/metrics

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

ready() { # the relay answers "200" at /readyz
	local line
	exec 3<>"/dev/tcp/${ops%:*}/${ops##*:}" || return 1
	printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
	read -r line <&3 || line=
	exec 3>&-
	[[ $line == *' 200 '* ]]
}
for ((try = 0; ; try++)); do
	ready 2>/dev/null && break
	kill -0 "${pids[0]}" 2>/dev/null || { echo "demo: the relay ended, see above" >&2; exit 1; }
	[ $try -lt 100 ] || { echo "demo: the relay is not ready after 10 s" >&2; exit 1; }
	sleep 0.1
done

"${publisher[@]}" </dev/null &
pids+=($!)

cat <<END

  player   $player
  metrics  $metrics
  name     $name

  Ctrl-C stops the relay and the publisher.

END

wait -n || true
echo "demo: the relay or the publisher ended, see above" >&2
exit 1

#!/bin/bash
# shaped-demo.sh [LINK]: the demo behind a bad link. Relay and publisher run as in
# demo.sh; the player reaches them through moq-link, which emulates the link.
#
# LINK is a name that "moq-link --list" shows, a scenario file, or link lines as
# 'rate=4Mbit/s delay=20ms queue=1bdp'. Without it the rate goes from 20 Mbit/s to
# 2 and back, over and over.
#
# MOQ_CC chooses the congestion controller of relay and publisher, MOQ_PORT the
# relay's port, MOQ_LINK_PORT that of the link.
set -euo pipefail
cd "$(dirname "$0")/.."

link=${1:-steps}
host=127.0.0.1
port=${MOQ_PORT:-4443}
link_port=${MOQ_LINK_PORT:-5443}
name=live/demo

shaper=(bin/moq-link --listen "$host:$link_port" --to "$host:$port" --stats)
if [[ $link == *=* ]]; then
	shaper+=(--link "$link")
else
	shaper+=(--scenario "$link")
fi
"${shaper[@]}" --list >/dev/null # a bad LINK ends here, with its reason

# open PORT reports whether something listens there.
open() { (exec 3<>"/dev/tcp/$host/$1") 2>/dev/null; }

# Job control gives each child a process group of its own, so that Ctrl-C reaches
# this script alone and the order of stopping is ours.
set -m
pids=()
stop() {
	trap - INT TERM HUP PIPE EXIT
	local i
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do # the link first: it prints its counters
		kill -TERM "${pids[i]}" 2>/dev/null || continue
		wait "${pids[i]}" || true
	done
}
trap 'stop; exit 0' INT TERM HUP PIPE
trap stop EXIT

# wait_for PID PORT WHAT
wait_for() {
	local try
	for ((try = 0; ; try++)); do
		open "$2" && return
		kill -0 "$1" 2>/dev/null || { echo "shaped-demo: $3 ended, see above" >&2; exit 1; }
		[ $try -lt 200 ] || { echo "shaped-demo: $3 is not ready after 20 s" >&2; exit 1; }
		sleep 0.1
	done
}

MOQ_PORT=$port scripts/demo.sh </dev/null >/dev/null &
pids+=($!)
wait_for "${pids[0]}" "$port" 'the relay'

"${shaper[@]}" </dev/null &
pids+=($!)
wait_for "${pids[1]}" "$link_port" 'the link'

cat <<END

  player             http://$host:$link_port/   through the link: $link
  player, no link    http://$host:$port/   to compare with

  Figures            bin/moq-sub --namespace $name --tls-insecure --stats moqt://$host:$link_port
  Another link       make shaped-demo LINK=wifi, or LINK='rate=2Mbit/s delay=50ms queue=1bdp'
  Without C4         MOQ_CC=stock make shaped-demo

  The table shows what the link does each second; its time begins with the first
  packet. Ctrl-C stops everything and prints the sums.

END

wait -n || true
echo "shaped-demo: something ended, see above" >&2
exit 1

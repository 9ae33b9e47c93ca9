#!/bin/bash
# shaped-bench.sh [ROUNDS]: frame delays of the synthetic call over bad links in real
# time, with --cc c4 and --cc stock in turns. The link is once between relay and
# subscriber, once between publisher and relay. Prints Markdown; about 5 minutes for
# each round.
#
# Delays are from a frame's capture to its arrival, in ms, without the first two
# seconds. video-mid, which a slow link is too slow for, is not in the figures.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-2}
host=127.0.0.1
port=${MOQ_PORT:-4643}
link_port=${MOQ_LINK_PORT:-4644}
name=bench/call
controllers=(c4 stock)
places=(relay-subscriber publisher-relay)
links=(
	'10 Mbit/s, 40 ms, 1 BDP|20|rate=10Mbit/s delay=20ms queue=1bdp'
	'20, 2, 20 Mbit/s|30|for=10s rate=20Mbit/s delay=20ms queue=1bdp; for=10s rate=2Mbit/s queue=100ms; rate=20Mbit/s queue=1bdp'
	'bad Wi-Fi|20|rate=10Mbit/s delay=5ms queue=250ms jitter=7ms'
)

out=$(mktemp -d)
pids=()
stop() {
	local i
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		kill -TERM "${pids[i]}" 2>/dev/null || continue
		wait "${pids[i]}" || true
	done
	pids=()
}
trap 'stop; rm -rf "$out"' EXIT
trap 'exit 130' INT TERM

# wait_for PORT
wait_for() {
	local try
	for ((try = 0; try < 100; try++)); do
		(exec 3<>"/dev/tcp/$host/$1") 2>/dev/null && return
		sleep 0.1
	done
	echo "shaped-bench: nothing listens on port $1" >&2
	exit 1
}

# measure LINK PLACE CC SECONDS CSV
measure() {
	local at_sub=$port at_pub=$port
	if [ "$2" = relay-subscriber ]; then at_sub=$link_port; else at_pub=$link_port; fi
	bin/moq-relay --listen "$host:$port" --ops off --log-level error --cc "$3" </dev/null &
	pids+=($!)
	wait_for "$port"
	bin/moq-link --listen "$host:$link_port" --to "$host:$port" --link "$1" --log-level error </dev/null >"$out/link" &
	pids+=($!)
	wait_for "$link_port"
	bin/moq-pub --namespace "$name" --synthetic --cc "$3" --tls-insecure --log-level error "moqt://$host:$at_pub" </dev/null &
	pids+=($!)
	bin/moq-sub --namespace "$name" --wait --duration "$4s" --csv "$5" --json --tls-insecure --log-level error "moqt://$host:$at_sub" </dev/null >/dev/null
	stop
}

# figures TRACK FILE... prints average, 95th percentile and maximum.
figures() {
	local track=$1
	shift
	awk -F, -v track="$track" '
		FNR == 1 { first = "" } # the time of day in seconds, of the first frame
		$2 == track && $8 != "" {
			now = substr($1, 12, 2) * 3600 + substr($1, 15, 2) * 60 + substr($1, 18, 9)
			if (first == "") first = now
			if (now - first >= 2) print $8 / 1000
		}' "$@" | sort -n | awk '
		{ v[NR] = $1; sum += $1 }
		END { if (NR) printf "%.1f / %.1f / %.1f", sum / NR, v[int(0.95 * (NR - 1)) + 1], v[NR]; else printf "none" }'
}

n=0
for link in "${links[@]}"; do
	IFS='|' read -r _ seconds lines <<<"$link"
	for place in "${places[@]}"; do
		for ((round = 1; round <= rounds; round++)); do
			for cc in "${controllers[@]}"; do
				echo "shaped-bench: $lines, $place, $cc, round $round" >&2
				measure "$lines" "$place" "$cc" "$seconds" "$out/$n-$place-$cc-$round.csv"
			done
		done
	done
	n=$((n + 1))
done

echo "| link | place | audio c4 | audio stock | video-low c4 | video-low stock |"
echo "|---|---|---|---|---|---|"
n=0
for link in "${links[@]}"; do
	for place in "${places[@]}"; do
		printf '| %s | %s |' "${link%%|*}" "$place"
		for track in audio video-low; do
			for cc in "${controllers[@]}"; do
				printf ' %s |' "$(figures "$track" "$out/$n-$place-$cc"-*.csv)"
			done
		done
		echo
	done
	n=$((n + 1))
done

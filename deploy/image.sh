#!/bin/bash
# image.sh [VERSION]: what the relay's image holds, without a container engine.
#
# Builds as deploy/Dockerfile does, twice in different places, and compares; puts the files where the last stage of the
# Dockerfile copies them; lists them with size and hash; and starts the program as the image would, to see that it answers.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-unknown}
work=$(mktemp -d)
pid=
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	rm -rf "$work"
}
trap stop EXIT

flags=$(sed -n 's|^ *scripts/build.sh "\(.*\)"$|\1|p' deploy/Dockerfile)
[ -n "$flags" ] || { echo "image: deploy/Dockerfile does not call scripts/build.sh" >&2; exit 1; }
flags=${flags//'${VERSION}'/$version}

build() { # build SOURCE OUT
	(cd "$1" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false OUT="$2" COMMANDS=moq-relay scripts/build.sh "$flags")
}
build . "$work/out"
mkdir "$work/elsewhere"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/elsewhere"
build "$work/elsewhere" "$work/again"
if cmp -s "$work/out/moq-relay" "$work/again/moq-relay"; then
	echo "reproducible: two builds in different directories are the same"
else
	echo "image: two builds differ" >&2
	exit 1
fi

# The last stage: each "COPY --from=build --chmod=MODE FROM TO".
root=$work/root
stage=$(sed -n '/^FROM .* AS relay$/,$p' deploy/Dockerfile)
while read -r mode from to; do
	mkdir -p "$root$(dirname "$to")"
	install -m "$mode" "$work$from" "$root$to"
done < <(sed -n 's|^COPY --from=build --chmod=\([0-7]*\) \([^ ]*\) \([^ ]*\)$|\1 \2 \3|p' <<<"$stage")

echo "base:        $(sed -n 's/^ARG RELAY_IMAGE=//p' deploy/Dockerfile), below these files"
echo "user:        $(sed -n 's/^USER //p' <<<"$stage")"
echo "ports:       $(sed -n 's/^EXPOSE //p' <<<"$stage")"
echo "starts:      $(sed -n 's/^ENTRYPOINT //p' <<<"$stage") $(sed -n 's/^CMD //p' <<<"$stage")"
echo "files:"
(cd "$root" && find . -type f -printf '%m %s %P\n' | sort -k3 | while read -r mode size file; do
	printf '  %s %10d  /%s\n             %s\n' "$mode" "$size" "$file" "$(sha256sum "$file" | cut -d' ' -f1)"
done)

binary=$root/usr/local/bin/moq-relay
if readelf -l "$binary" 2>/dev/null | grep -q INTERP; then
	echo "image: $binary needs a dynamic linker, which the image has not" >&2
	exit 1
fi
echo "static:      yes"
echo "version:     $("$binary" --version)"

# As in the image: nothing in the environment, a directory that is not its own.
(cd / && exec env -i "$binary" --listen 127.0.0.1:0 --ops 127.0.0.1:19464 --log-level error) &
pid=$!
for ((try = 0; try < 50; try++)); do
	if (exec 3<>/dev/tcp/127.0.0.1/19464 && printf 'GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && grep -q ' 200 ' <&3) 2>/dev/null; then
		echo "runs:        ready after $((try * 100)) ms"
		exit 0
	fi
	sleep 0.1
done
echo "image: the program does not become ready" >&2
exit 1

#!/bin/bash
# setup.sh: installs what is missing to build, test and run the demo, and says so.
#
# Expects Debian 12 or later with Go and Node. Does nothing, and says nothing,
# when everything is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }
die() { say "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

have go || die "Go is missing; install the version that go.mod names"

# Debian packages, each by what shows that it is there.
missing=()
need() { missing+=("$@"); }
have cc || need gcc libc6-dev # the race detector links with it
have ffmpeg && have ffprobe || need ffmpeg
have chromium || need chromium
ls /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf >/dev/null 2>&1 || need fonts-dejavu-core
if [ -d deploy/prometheus ]; then
	have promtool && have prometheus || need prometheus # for checks of rules and a test of dashboards
fi

if [ ${#missing[@]} -gt 0 ]; then
	have apt-get || die "please install: ${missing[*]}"
	root=()
	if [ "$(id -u)" != 0 ]; then
		have sudo || die "not root and no sudo; please install: ${missing[*]}"
		root=(sudo)
	fi
	say "installing Debian packages: ${missing[*]}"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1; }
	if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
		tail -n 20 "$log" >&2
		die "apt-get failed, its last lines are above"
	fi
fi

# npm packages of each committed package.json, when its lock file has changed
# since they were installed.
while read -r manifest; do
	dir=$(dirname "$manifest")
	have npm || die "npm is missing; $dir needs Node 20 or later"
	[ -f "$dir/package-lock.json" ] || die "$dir/package-lock.json is missing"
	stamp=$dir/node_modules/.setup-stamp
	cmp -s "$dir/package-lock.json" "$stamp" && continue
	say "installing npm packages of $dir"
	(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error </dev/null)
	mkdir -p "$dir/node_modules"
	cp "$dir/package-lock.json" "$stamp"
done < <(git ls-files -- 'package.json' '*/package.json')

#!/bin/bash
# build.sh [LDFLAGS]: builds every command into bin/. OUT is another directory for them, COMMANDS are names of some of
# them. deploy/Dockerfile calls it, too.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
commands=(cmd/*/main.go)
if [ ${#commands[@]} = 0 ]; then
	echo "build: there is no command yet"
	exit 0
fi
# The player is bundled into the relay; esbuild is run as a Go tool, so this
# needs no Node.
if compgen -G 'web/*.go' >/dev/null; then
	go generate ./web
fi
out=${OUT:-bin}
packages=(./cmd/...)
[ -z "${COMMANDS:-}" ] || packages=($(printf './cmd/%s ' $COMMANDS))
mkdir -p "$out"
go build -trimpath -ldflags "${1:-}" -o "$out/" "${packages[@]}"

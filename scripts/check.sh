#!/bin/bash
# check.sh: everything a commit must pass besides the tests. Runs every check,
# then fails if one of them did.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=(go tool -modfile=tools/go.mod)
failed=()
check() { # check NAME COMMAND...: the command must succeed
	local name=$1
	shift
	echo "check: $name"
	"$@" || failed+=("$name")
}

format() {
	local files
	files=$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 -r "${tool[@]}" gofumpt -l) || return 1
	[ -z "$files" ] && return
	echo "$files"
	echo "run: ${tool[*]} gofumpt -w ."
	return 1
}

check format format
check vet go vet ./...
check fix go fix -diff ./...
check staticcheck "${tool[@]}" staticcheck ./...
check tidy go mod tidy -diff
check tidy-tools go -C tools mod tidy -diff
check tidy-moqtransport go -C cmd/internal/e2e/moqtransport mod tidy -diff
check vet-moqtransport go -C cmd/internal/e2e/moqtransport vet ./...
check web scripts/web.sh check
if [ -d deploy/prometheus ]; then
	check rules bash -c 'promtool check rules deploy/prometheus/*.rules.yml'
	check rule-tests promtool test rules deploy/prometheus/rules.test.yml
	check prometheus-config promtool check config --syntax-only deploy/prometheus/prometheus.yml
fi

if [ ${#failed[@]} -gt 0 ]; then
	echo "check: FAILED: ${failed[*]}"
	exit 1
fi
echo "check: ok"

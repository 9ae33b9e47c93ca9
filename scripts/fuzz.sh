#!/bin/bash
# fuzz.sh [TIME]: runs every fuzz target of the module for TIME each (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}
failed=()
count=0
while IFS=: read -r file line; do
	dir=./$(dirname "$file")
	name=${line#func }
	name=${name%%(*}
	count=$((count + 1))
	echo "fuzz: $dir $name for $time"
	go test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "$dir" </dev/null || failed+=("$dir $name")
done < <(git ls-files --cached --others --exclude-standard -- '*_test.go' | xargs -r grep -HE '^func Fuzz[A-Za-z0-9_]*\(' || true)

if [ ${#failed[@]} -gt 0 ]; then
	printf 'fuzz: FAILED: %s\n' "${failed[@]}"
	echo "fuzz: the inputs that failed are in testdata/fuzz of those packages"
	exit 1
fi
echo "fuzz: $count targets, nothing found"

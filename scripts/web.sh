#!/bin/bash
# web.sh SCRIPT: runs the npm script SCRIPT of every committed package.json that has one.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files -- 'package.json' '*/package.json' | while read -r manifest; do
	npm --prefix "$(dirname "$manifest")" run --silent --if-present "$1" </dev/null
done

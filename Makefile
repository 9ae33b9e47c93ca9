# Developer commands; "make" alone lists them.
#
# The longer recipes are scripts in scripts/, each of which can be run by itself.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO   ?= go
TOOL := $(GO) tool -modfile=tools/go.mod

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/moq-c4/moq-c4/internal/ops.version=$(VERSION)

# Packages whose tests run real programs in real time: after the others, not beside them.
REALTIME := /(cmd/internal/e2e|deploy)$$

# How long "make fuzz" works on each target.
TIME ?= 30s

## help: list the targets
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{ printf "  make %-11s %s\n", $$1, $$2 }'

## setup: install what is missing (Debian packages, npm packages)
.PHONY: setup
setup:
	@scripts/setup.sh

## build: build every command into bin/
.PHONY: build
build:
	@scripts/build.sh '$(LDFLAGS)'

## demo: relay and looping publisher on this machine; prints the URLs, Ctrl-C stops both
.PHONY: demo
demo: setup build
	@scripts/demo.sh

## shaped-demo: the demo behind a bad link (LINK='...')
.PHONY: shaped-demo
shaped-demo: setup build
	@scripts/shaped-demo.sh '$(LINK)'

## test: all tests with the race detector, other people's peers and the web tests
.PHONY: test
test: setup
	@MOQ_REQUIRE_TOOLS=1 $(GO) test -race -shuffle=on -timeout=14m $$($(GO) list ./... | grep -vE '$(REALTIME)')
	@MOQ_REQUIRE_TOOLS=1 $(GO) test -race -shuffle=on -timeout=14m -p=1 $$($(GO) list ./... | grep -E '$(REALTIME)')
	@$(GO) test -run='^TestAllocs$$' ./moqt # the race detector empties pools, so these counts need a run without it
	@$(GO) -C cmd/internal/e2e/moqtransport test -race -shuffle=on ./... # a module of its own, for the peer's sake
	@scripts/web.sh test

## browser: the player and the publish page in Chromium, against relay and publisher (5 min)
.PHONY: browser
browser: setup
	@scripts/web.sh test:e2e

## check: formatting, vet, lint, tidy modules, web types
.PHONY: check
check: setup
	@scripts/check.sh

## bench: load generator and fan-out benchmark (BENCH_ARGS='...')
.PHONY: bench
bench: build
	@bin/moq-bench $(BENCH_ARGS)

## gobench: Go micro-benchmarks, summed up by benchstat (BENCH=regexp PKG=./...)
.PHONY: gobench
gobench:
	@mkdir -p out
	@$(GO) test -run='^$$' -bench='$(or $(BENCH),.)' -benchmem -count=10 $(or $(PKG),./...) | tee out/bench.txt
	@$(TOOL) benchstat out/bench.txt

## sim: congestion-control scenarios in virtual time (SIM_ARGS='...')
.PHONY: sim
sim: build
	@bin/c4sim $(SIM_ARGS)

## fuzz: run every fuzz target for TIME (default 30s) each
.PHONY: fuzz
fuzz:
	@scripts/fuzz.sh $(TIME)

## clean: remove what the other targets made
.PHONY: clean
clean:
	@rm -rf bin out
	@echo 'clean: removed bin/ and out/'

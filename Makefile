# Annotary. `make help` lists what there is.
SHELL := bash
.DEFAULT_GOAL := all
export PATH := $(CURDIR)/.tmp/bin:$(PATH)
GO ?= go

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sort

.PHONY: all
all: build test lint ## build, test and lint

.PHONY: deps
deps: ## install what the tests run against (Debian, npm, the linter)
	.ci/setup

.PHONY: build
build: ## build bin/annotary as it ships
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/annotary ./cmd/annotary

.PHONY: test
test: ## run every test
	$(GO) test ./...

.PHONY: race
race: ## run every test with the race detector
	CGO_ENABLED=1 $(GO) test -race ./...

.PHONY: lint
lint: ## gofmt, vet, golangci-lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	golangci-lint run --allow-parallel-runners ./...

FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## run every fuzzer for FUZZTIME (10s)
	.ci/fuzz $(FUZZTIME)

.PHONY: planted
planted: ## apply each planted bug to a copy; the test it names must turn red
	.ci/planted

.PHONY: find-eval
find-eval: ## measure tool search on the corpus (ANNOTARY_CORPUS) and rewrite the table of docs/find.md
	cd find/testdata/eval && $(GO) test -mod=mod -v -count=1 -run TestEval -timeout 20m . -write ../../../docs/find.md
	cd find/testdata/eval && $(GO) test -v -count=1 -run TestEval -timeout 20m . -write ../../../docs/find.md

.PHONY: derive-eval
derive-eval: ## learn the weights anew, measure derivation on the corpus, write docs/derivation.md
	@test -n "$$ANNOTARY_CORPUS" || { echo "ANNOTARY_CORPUS does not name the folder of the tool corpus"; exit 1; }
	$(GO) test ./derive -count=1 -run '^(TestWeights|TestCorpus)$$' -eval -v | grep -v '^=== RUN'
	@sed -n '/^| in %/,/^$$/p' docs/derivation.md

BENCHFLAGS ?= -d 2s -rounds 5
.PHONY: bench-wire
bench-wire: ## measure the wire beside other proxies, into docs/performance.md
	$(GO) build -o .tmp/bin/bench ./conformance/bench
	.tmp/bin/bench -docs docs $(BENCHFLAGS)

.PHONY: soak-sessions
soak-sessions: ## hold 10,000 idle legacy sessions
	ANNOTARY_SESSIONS=10000 $(GO) test -count=1 -timeout 10m -v -run 'TestIdle_sessions' ./internal/wire

.PHONY: soak-streams
soak-streams: ## hold 5,000 open listen streams
	ANNOTARY_STREAMS=5000 $(GO) test -count=1 -timeout 10m -v -run 'TestIdle_streams' ./internal/wire

.PHONY: soak-kill
soak-kill: ## kill a server 1,000 times under load
	ANNOTARY_KILLS=1000 $(GO) test -count=1 -timeout 30m -v -run 'TestKill_fixture' ./internal/wire

.PHONY: soak-reload
soak-reload: ## reload 10,000 times under load
	ANNOTARY_RELOADS=10000 $(GO) test -count=1 -timeout 30m -v -run 'TestReload' ./internal/wire

.PHONY: bench-append
bench-append: ## measure appending to the log beside bare nats.go
	ANNOTARY_ROUNDS=25 $(GO) test -count=1 -timeout 10m -v -run 'TestThroughput' ./internal/jetstream

.PHONY: soak-export
soak-export: ## export to a database that is dead for ten minutes
	ANNOTARY_DEAD=10m $(GO) test -count=1 -timeout 20m -v -run 'TestPostgres_dead' ./internal/export

.PHONY: bench-verify
bench-verify: ## verify a log of a million entries through the operator's channel
	ANNOTARY_ENTRIES=1000000 $(GO) test -count=1 -timeout 20m -v -run 'TestVerifyMany' ./internal/api

.PHONY: soak-approvals
soak-approvals: ## answer 1,000 questions, 100 a second; p99 of answer to acceptance is held to 250 ms
	ANNOTARY_APPROVALS=1000 $(GO) test -count=1 -timeout 10m -v -run TestApprovals_soak ./internal/cli

.PHONY: soak-stores
soak-stores: ## hold every store to its contract 50 times, with the race detector
	CGO_ENABLED=1 $(GO) test -race -count=50 -timeout 120m -run 'TestBucket|TestRecords|TestLog|TestEmbedded|TestThreeServers' ./internal/memory ./internal/jetstream

.PHONY: soak-crash
soak-crash: ## kill -9 the engine and the gateway 200 times each under load
	ANNOTARY_CRASHES=200 $(GO) test -count=1 -timeout 60m -v -run '^TestKill9$$' ./internal/jetstream ./cmd/annotary

MEASURE ?= 1000000
.PHONY: measure-state
measure-state: ## measure start, memory and restart with MEASURE (1,000,000) entries
	ANNOTARY_MEASURE=$(MEASURE) $(GO) test -count=1 -timeout 30m -v -run '^TestMeasureState$$' ./cmd/annotary

# Needs only Go 1.26 and make. `make` alone prints the targets.

.DEFAULT_GOAL := help
BENCH := bin/bench
# -buildvcs stamps commit and dirty state, which run.json and `bench version` show.
GOBUILD := go build -buildvcs=auto -o

# Packages with goroutines or state that goroutines share. Drawing is 20 times slower under the race detector, so of what draws only the
# tests that have goroutines of their own run there: `make test` runs all of them without it.
RACE := ./loadgen/... ./results ./server ./server/wire ./server/journal ./server/peer ./server/events ./server/api

.PHONY: help build test check vortex bench bench-full primary-rejoin sim clean

help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

build: ## build bin/bench
	@mkdir -p bin
	$(GOBUILD) $(BENCH) ./cmd/bench

test: build ## unit and golden tests, a short simulation, a 30 s run of a real cluster with kills; under 5 minutes
	go test ./...
	$(BENCH) --results bin/test-results run cmd/bench/testdata/make-test.yaml

check: ## gofmt, vet, the race detector on the concurrent packages, and the pages in a browser (skipped without chromium)
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then echo "gofmt -w these files:"; echo "$$files"; exit 1; fi
	go vet ./...
	go test -race -short $(RACE)
	go test -race -run 'Concurrent|OneFailure' ./plots
	go test -race -skip 'Planted|Misses|ListClean' ./cmd/bench
	go vet -tags browser ./plots/report/browsertest
	go test -tags browser -v ./plots/report/browsertest

vortex: ## real processes behind fault proxies, killed, stopped, cut off at random, for FOR=5m; SEED=N repeats
	go test ./cmd/bench -run '^TestVortex$$' -count=1 -timeout 0 -v -vortex.for $(or $(FOR),5m) -vortex.seed $(or $(SEED),0)

bench: build ## run scenario quick: three nodes, each killed once; about 80 s
	$(BENCH) run quick

bench-full: build ## run scenario rejoin-360, the reference schedule; about eight minutes, 9 GB of disk
	$(BENCH) run rejoin-360

primary-rejoin: build ## run scenario primary-rejoin: two of three alive, the primary killed and back at once
	$(BENCH) run primary-rejoin

sim: build ## simulate 2,000 seeds; print the first that breaks a promise
	$(BENCH) sim --seeds 2000

clean: ## remove bin and the nodes' data of all runs; the records of runs stay
	@if [ -x $(BENCH) ] && [ -d results ]; then $(BENCH) clean --all --data; fi
	rm -rf bin

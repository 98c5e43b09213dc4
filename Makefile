# Needs only Go 1.26 and make. `make` alone prints the targets.

.DEFAULT_GOAL := help
BENCH := bin/bench
# -buildvcs stamps commit and dirty state, which run.json and `bench version` show.
GOBUILD := go build -buildvcs=auto -pgo=auto -o
# The profile of cmd/bench/default.pgo is for what people run. Tests would compile every package once more for it, and check nothing more.
export GOFLAGS += -pgo=off

# What is played where. `make test` plays every test once, without the race detector, but for three groups that `make check` plays:
#   LONG  tests of the simulator that compute for a minute or more; they have one goroutine
#   RUNS  tests that run a whole cluster or several, and wait for it most of the time: beside LONG, so that the cores have work
#   DEEP  tests of cmd/bench that are only worth their time under the race detector
# `make check` plays what has goroutines, or state that they share, under the race detector once more, with -short: RACE, of which cmd/bench
# leaves out what its playedOnce names. Drawing is 20 times slower there: of plots and profiles only the tests with goroutines of their own run.
# TestFreshProcesses is played by `make sim`, the tests with the tag browser by `make check`. TestEveryTestIsPlayed holds the groups to it.
LONG := TestKilledByTests|TestSwitchesAreFoundBySeeds|TestReceiverFallsAtEachOperationOfAnInstall|TestReceiverFallsAgainInRecovery
RUNS := TestRepeatSumsUp|TestCompareRealRuns|TestNodesElsewhere|TestRunningKafkaIsMeasured|TestNatsIsKilledAndVerified|TestKafkaIsKilledAndVerified
DEEP := TestClosedLoopOverRetention
# The longest first: two packages are tested at a time.
RACE := ./cmd/bench/... ./server ./loadgen/... ./server/api ./server/journal ./server/peer ./results ./server/wire ./server/events

.PHONY: help build test check vortex bench bench-full primary-rejoin peers versus weight profile compare ab goals scaling sim mutants clean

help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

build: ## build bin/bench
	@mkdir -p bin
	$(GOBUILD) $(BENCH) ./cmd/bench

test: build ## unit and golden tests, a short simulation, a 30 s run of a real cluster with kills; under 5 minutes
	go test -skip '^($(LONG)|$(RUNS)|$(DEEP)|TestFreshProcesses)$$' ./...
	$(BENCH) --results bin/test-results run cmd/bench/testdata/make-test.yaml

check: ## gofmt, vet, race detector, long tests, and the pages in a browser (skipped without chromium)
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then echo "gofmt -w these files:"; echo "$$files"; exit 1; fi
	go vet ./...
	go vet -tags core ./cmd/bench
	@test -x bin/peers/nats-server || echo "bin/peers/nats-server is not there (make peers): the tests against real NATS servers are skipped"
	@test -d bin/peers/kafka/libs || echo "bin/peers/kafka is not there (make peers): the tests against real Kafka brokers are skipped"
	go test -run '^($(LONG)|$(RUNS))$$' ./cmd/bench ./server/sim/...
	go test -race -short $(RACE)
	go test -race -run 'Concurrent|OneFailure' ./plots
	go test -race -short -run 'Window|Snapshot|Border|Own|Lost|Stopped' ./profiles
	go vet -tags browser ./plots/report/browsertest
	go test -tags browser -v ./plots/report/browsertest
	go vet -tags browser ./cmd/bench
	go test -tags browser -v -run "Browser|LogIn" ./cmd/bench
	cd .ci/openapi && go test ./...
	go vet -C peers/raft ./...
	go test -C peers/raft -race ./...

vortex: ## real processes behind fault proxies, killed, stopped, cut off at random; FOR=5m, SEED=N
	go test ./cmd/bench -run '^TestVortex$$' -count=1 -timeout 0 -v -vortex.for $(or $(FOR),5m) -vortex.seed $(or $(SEED),0)

bench: build ## run scenario quick: three nodes, each killed once; about 80 s
	$(BENCH) run quick

bench-full: build ## run scenario rejoin-360, the reference schedule; about eight minutes, 9 GB of disk
	$(BENCH) run rejoin-360

primary-rejoin: build ## run scenario primary-rejoin: two of three alive, the primary killed and back at once
	$(BENCH) run primary-rejoin

peers: ## build or fetch the logs of others into bin/peers: NATS, Kafka (docs/targets.md), hashicorp/raft (docs/limits.md)
	@mkdir -p bin/peers
	cd peers/nats && go build -o ../../bin/peers/nats-server github.com/nats-io/nats-server/v2
	@$(MAKE) --no-print-directory peer-raft
	@if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then \
		echo "no Kafka: it needs Java 17 and Maven (default-jre-headless and maven on Debian)"; \
	elif mvn -B -q -Dstyle.color=never -f peers/kafka/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/bin/peers/kafka/libs; then \
		echo "Kafka is in bin/peers/kafka"; \
	else echo "no Kafka: Maven does not reach its repository"; rm -rf bin/peers/kafka; fi

versus: build peers ## run scenario quick against our log, NATS JetStream and Kafka in turn; about ten minutes; REPEAT=1
	$(BENCH) versus quick $(if $(TARGETS),--targets $(TARGETS)) --repeat $(or $(REPEAT),1)

weight: build ## size, start and memory of bench with and without the client libraries of other systems
	$(GOBUILD) bin/bench-core -tags core ./cmd/bench
	go test ./cmd/bench -run '^$$' -bench '^BenchmarkStart$$' -benchtime 200x -start.binaries $(CURDIR)/bin/bench,$(CURDIR)/bin/bench-core

profile: build ## run SCENARIO=steady and say where its profiles are; MODE=mem, mutex, block, trace, flight adds more
	$(BENCH) run $(or $(SCENARIO),steady) $(if $(MODE),--profile $(MODE))

compare: build ## compare runs: make compare A=RUN B=RUN, or A='PATTERN' B='PATTERN'
	@test -n "$(A)" -a -n "$(B)" || { echo "name both sides: make compare A=RUN B=RUN; bin/bench list shows runs, bin/bench compare --help more"; exit 2; }
	$(BENCH) compare --a '$(A)' --b '$(B)' $(ARGS)

ab: build ## compare the working tree with a revision: make ab REV=main; eight interleaved pairs of runs, about ten minutes
	@test -n "$(REV)" || { echo "name a revision: make ab REV=HEAD, or a branch or commit"; exit 2; }
	$(BENCH) ab '$(REV)' $(ARGS)

# Whoever changes what a batch passes through takes the profile anew; the pairs that follow show what it is worth. No verdict stops them: a run
# that is no evidence is refused by the comparison.
PGO_PAIR := run saturate --profile none

.PHONY: pgo
pgo: ## profile scenario saturate into cmd/bench/default.pgo, and compare builds without and with it; about ten minutes
	@mkdir -p bin
	rm -rf bin/pgo
	go build -pgo=off -buildvcs=auto -o bin/bench-pgo-off ./cmd/bench
	bin/bench-pgo-off --results bin/pgo/profile run saturate
	go tool pprof -proto -output=cmd/bench/default.pgo bin/pgo/profile/2*/profiles/*-cpu-steady.pb.gz
	$(GOBUILD) $(BENCH) ./cmd/bench
	@for pair in $$(seq $(or $(PAIRS),5)); do \
		bin/bench-pgo-off --results bin/pgo/off $(PGO_PAIR) || true; \
		$(BENCH) --results bin/pgo/on $(PGO_PAIR) || true; \
	done
	$(BENCH) --results bin/pgo compare --force --a 'bin/pgo/off/2*' --b 'bin/pgo/on/2*'

# What a campaign must have run. cmd/bench is in the list because only a main package that counts itself writes the counts.
SIM_COVER := rejoin/cmd/bench,rejoin/server/vsr,rejoin/server/partition,rejoin/server/journal

# The program that runs hashicorp/raft, for one of the goals.
.PHONY: peer-raft
peer-raft:
	@mkdir -p bin/peers
	go build -C peers/raft -o ../../bin/peers/hashicorp-raft .

goals: build ## measure every goal of speed on this machine; about 75 minutes, resumable; ARGS='--only burst,steady'
	@$(MAKE) --no-print-directory peer-raft || echo "bin/peers/hashicorp-raft could not be built: an older one is measured, and without one its goal has no data"
	$(BENCH) goals $(ARGS)

scaling: build ## vary producers, batches, messages, nodes, partitions, length of the log; 25 minutes, resumable; ARGS='--only producers'
	$(BENCH) scaling $(ARGS)

sim: ## simulate kept and new seeds for FOR=2m, and judge what they met; FIRST=N, PLAY='--seed 1 --seeds 700', SAME=200
	@mkdir -p bin
	go build -cover -coverpkg=$(SIM_COVER) -o bin/bench-sim ./cmd/bench
	rm -rf bin/sim-coverage && mkdir bin/sim-coverage
	GOCOVERDIR=bin/sim-coverage bin/bench-sim sim $(or $(PLAY),--for $(or $(FOR),2m) $(if $(FIRST),--seed $(FIRST)))
	go tool covdata textfmt -i=bin/sim-coverage -o bin/sim-coverage/profile
	go test ./server/sim -count=1 -v -run '^TestCampaignCovers$$' -sim.coverage=$(CURDIR)/bin/sim-coverage/profile
	go test ./server/sim -count=1 -timeout 0 -run '^TestFreshProcesses$$' -sim.same=$(or $(SAME),200)

mutants: ## let the simulator find each mutant within SEEDS=4000 seeds; FOR=5m plays a piece, ONLY=NAME,NAME
	@mkdir -p bin
	go test ./server/sim/mutants -count=1 -v -timeout 0 -run '^TestKilledBySeeds$$' -mutants.seeds=$(or $(SEEDS),4000) -mutants.only='$(ONLY)' \
		-mutants.for=$(or $(FOR),0) -mutants.table=$(CURDIR)/bin/mutants.md

clean: ## remove bin and the nodes' data of all runs; the records of runs stay
	@if [ -x $(BENCH) ]; then $(BENCH) clean --all --data; \
	elif [ -n "$$(ls -d results/[0-9]*/data results/*/runs/*/data 2>/dev/null)" ]; then go run ./cmd/bench clean --all --data; fi
	rm -rf bin

.PHONY: check lint test race long faults soak bounds upgrade

# Everything that CI runs.
check: test lint race long

# Formatting, vet, staticcheck, spelling and prose. workflowcheck is one of the tests. SPELLED has words that misspell takes for
# mistakes: a program, what two servers write, a stem, and a test's own mistake.
SPELLED = mosquitto,preceeding,agre,promotheus
lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	go mod tidy -diff
	go vet ./...
	@mkdir -p bin
	go build -C test/tools/staticcheck -o $(CURDIR)/bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	go build -C test/tools/misspell -o $(CURDIR)/bin/misspell github.com/golangci/misspell/cmd/misspell
	git ls-files '*.go' '*.md' '*.js' '*.html' '*.css' '*.yaml' '*.sh' | grep -v testdata/ | xargs bin/misspell -error -i $(SPELLED)
	go run ./test/prose

# Installs what the tests need (on Debian and Ubuntu; elsewhere it names what is missing), then runs all of them.
test:
	@test/prepare.sh
	@mkdir -p bin
	@go build -C test/tools/gotestsum -o $(CURDIR)/bin/gotestsum gotest.tools/gotestsum
	bin/gotestsum --format pkgname --hide-summary=skipped -- -timeout 25m ./...

# The race detector, in all packages but those that link a Temporal server, which is built anew for it and takes an hour on two
# cores, and those whose tests are about other processes. RACED=./... has all of them.
UNRACED = inquest$$|/internal/(app|devserver|doctor|payload)$$|/test/(bench|chart|compose|e2e|hostile|mcp|memory)$$
TESTED = {{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}
RACED ?= $(shell go list -f '$(TESTED)' ./... | grep -vE '$(UNRACED)')
race:
	go test -race -short -shuffle=on -timeout 15m $(RACED)

# What takes minutes: large investigations, long stalls, the whole fault matrix.
long:
	go test ./test/e2e -count=1 -timeout 40m -parallel 4 -long -run '^TestLong'
	$(MAKE) faults

# Upgrades and rollbacks between the previous release and this build, with work in flight: in place, worker by worker on
# PostgreSQL under load, and by worker versions until the old one is drained. It takes about half an hour.
upgrade:
	go test ./test/e2e -count=1 -timeout 90m -long -run 'TestUpgradeInPlace|TestRollbackInPlace|TestRollingUpgrade|TestDeploymentVersions|TestBadOrder'

# Every row of the fault matrix, and a thousand runs in which things go wrong; with
# SEED=42 that run alone, printed: always the same.
faults:
ifdef SEED
	@go test ./test/faults -count=1 -v -run '^TestSeeds$$' -seed $(SEED)
else
	go test ./test/faults -count=1 -timeout 25m -seeds 1000 -every
endif

# Whether steps cost what they may, on both databases: docs/reference/measurements.md. It takes an hour and both cores.
bounds:
	go run ./test/bench --store sqlite --store postgres --docs docs --check

# Outages as long as they are said to be: a store that is away for ten minutes, SQLite
# or PostgreSQL, a provider for an hour; stalls and resets at every point, and a thousand
# words while workers are killed. It takes an hour and a half.
soak:
	go test ./test/e2e -count=1 -timeout 3h -parallel 4 -run 'TestSoak|TestStallOfSQLite|TestFleet|TestOutageOfAProvider' -soak

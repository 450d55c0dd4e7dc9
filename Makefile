.PHONY: check lint programs test nightly parts whole e2e race faults upgrade soak bounds release vulnerabilities

# What CI runs.
check: lint test

# Formatting, vet, staticcheck, GitHub's workflows, spelling and prose. workflowcheck is one of the tests. SPELLED has words that
# misspell takes for mistakes: a program, what two servers write, a stem, and a test's own mistake.
SPELLED = mosquitto,preceeding,agre,promotheus
lint:
	@echo "=== lint"
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	go mod tidy -diff
	go vet ./...
	@mkdir -p bin
	go build -C test/tools/staticcheck -o $(CURDIR)/bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	go build -C test/tools/actionlint -o $(CURDIR)/bin/actionlint github.com/rhysd/actionlint/cmd/actionlint
	bin/actionlint && bin/actionlint examples/evals/ci/github-actions.yaml
	go build -C test/tools/misspell -o $(CURDIR)/bin/misspell github.com/golangci/misspell/cmd/misspell
	git ls-files '*.go' '*.md' '*.js' '*.html' '*.css' '*.yaml' '*.yml' '*.sh' | grep -v testdata/ | xargs bin/misspell -error -i $(SPELLED)
	go run ./test/prose

# Installs what the tests need (on Debian and Ubuntu; elsewhere it names what is missing), and builds the programs that they start,
# so that no test compiles within its own time. It prints each program: a first build takes minutes.
PROGRAMS = $(CURDIR)/bin/programs
LINKED = -s -w -X go.temporal.io/sdk/internal.binaryChecksum=e2e
programs:
	@test/prepare.sh
	@mkdir -p $(PROGRAMS)
	go build -C test/tools/gotestsum -o $(CURDIR)/bin/gotestsum gotest.tools/gotestsum
	go build -ldflags '$(LINKED)' -o $(PROGRAMS)/ ./dev ./worker ./starter ./internal/tool/tooltest/cmd/toolserver ./examples/embed
	go build -tags remote -ldflags '$(LINKED)' -o $(PROGRAMS)/starter-remote ./starter
	go build -C test/tools/temporalcli -ldflags '$(LINKED)' -o $(PROGRAMS)/temporal github.com/temporalio/cli/cmd/temporal
	go build -C test/tools/workflowcheck -o $(PROGRAMS)/ go.temporal.io/sdk/contrib/tools/workflowcheck

# Tests of packages that start processes, servers, databases or browsers run one package at a time, while the next one is built. A
# failed test runs twice more: if it passes then, it is listed as flaky. In-process tests have no excuse, so they run once. Tests that
# build other projects' programs (Helm, MCP servers) run at night.
PROCESSES = inquest$$|/internal/(app|devserver|doctor|payload|store|tool/mcp|tool/builtin|face/api|face/cli|face/page|face/slack|trust/sandbox)$$|/starter$$|/test/(bench|hostile|mcp|memory)$$
OTHERS = /test/(chart|packs)$$
TESTED = $(shell go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /test/e2e)
IN_PROCESS = $(shell printf '%s\n' $(TESTED) | grep -vE '$(PROCESSES)|$(OTHERS)' | sort -r) # the long ones, in test/, first
WITH_PROCESSES = $(shell printf '%s\n' $(TESTED) | grep -E '$(PROCESSES)')
ALONE = $(if $(shell command -v flock),-p 3 -exec 'flock -F $(CURDIR)/bin/tests/lock',-p 1)
# Many tests wait for a server or a clock most of the time.
PARALLEL = -parallel $(shell expr 2 '*' `getconf _NPROCESSORS_ONLN`)
AGAIN = --rerun-fails=2 --rerun-fails-max-failures=10 --rerun-fails-run-root-test
PHASE = INQUEST_TEST_PROGRAMS=$(PROGRAMS) test/phase.sh

# The tests that must pass before a change lands. Of the end-to-end tests, these are the ones in test/e2e/gate_test.go.
test: programs
	@failed=0; \
	$(PHASE) in-process --packages='$(IN_PROCESS)' -- -short $(PARALLEL) -timeout 40m || failed=1; \
	$(PHASE) processes $(AGAIN) --packages='$(WITH_PROCESSES)' -- -short $(ALONE) $(PARALLEL) -timeout 40m || failed=1; \
	$(PHASE) end-to-end $(AGAIN) --packages=./test/e2e -- $(PARALLEL) -timeout 40m || failed=1; \
	exit $$failed

# All tests: what `make test` leaves out too, storms, every end-to-end test, races, a thousand runs with faults, and long outages. It
# takes a night. It continues after a failure, and names what failed at the end.
NIGHTLY = lint whole e2e race faults soak bounds release vulnerabilities
nightly: programs
	@failed=; \
	for part in $(NIGHTLY); do $(MAKE) $$part || failed="$$failed $$part"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# The parts of `make nightly`, one on each line.
parts:
	@printf '%s\n' $(NIGHTLY)

# Every test but the end-to-end ones.
whole: programs
	@$(PHASE) whole $(AGAIN) --packages='$(TESTED)' -- $(ALONE) -timeout 2h

# End-to-end tests. RUN=REGEXP chooses some, also of those that take minutes.
RUN ?= .
e2e: programs
	@test/prepare.sh nightly
	@$(PHASE) e2e $(AGAIN) --packages=./test/e2e -- -count=1 -timeout 4h -parallel 4 -run '$(RUN)' -args -all -long

# The race detector, in all packages but those that link a Temporal server, which is built anew for it and takes an hour on two
# cores, and those whose tests are about other processes. PKGS=./... has all of them.
UNRACED = inquest$$|/internal/(app|devserver|doctor|payload)$$|/test/(bench|chart|compose|hostile|mcp|memory)$$
PKGS ?= $(shell printf '%s\n' $(TESTED) | grep -vE '$(UNRACED)')
race: programs
	@$(PHASE) race --packages='$(PKGS)' -- -race -short -shuffle=on -timeout 30m

# Upgrades and rollbacks between the previous release and this build, with work in flight: in place, worker by worker on
# PostgreSQL under load, and by worker versions until the old one is drained. It takes about half an hour.
upgrade:
	@$(MAKE) e2e RUN='TestUpgradeInPlace|TestRollbackInPlace|TestRollingUpgrade|TestDeploymentVersions|TestBadOrder'

# Every row of the fault matrix, and a thousand runs in which things go wrong; with
# SEED=42 that run alone, printed: always the same.
faults:
ifdef SEED
	@go test ./test/faults -count=1 -v -run '^TestSeeds$$' -seed $(SEED)
else
	go test ./test/faults -count=1 -timeout 60m -seeds 1000 -every
endif

# Whether steps cost what they may, on both databases: docs/reference/measurements.md. It takes an hour and both cores.
bounds:
	go run ./test/bench --store sqlite --store postgres --docs docs --check

# Outages as long as they are said to be: a store that is away for ten minutes, SQLite
# or PostgreSQL, a provider for an hour; stalls and resets at every point, and a thousand
# words while workers are killed. It takes an hour and a half.
soak:
	go test ./test/e2e -count=1 -timeout 3h -parallel 4 -run 'TestSoak|TestStallOfSQLite|TestFleet|TestOutageOfAProvider' -soak

# A release of the current commit, into dist/: archives, packages, SBOMs, and images if there is a Docker daemon. Nothing is published,
# except with `make release RELEASE=` on a tag (.github/workflows/release.yml). It takes a quarter of an hour.
RELEASE = --snapshot $(shell docker info >/dev/null 2>&1 || echo --skip=docker)
release:
	go build -C test/tools/goreleaser -o $(CURDIR)/bin/goreleaser github.com/goreleaser/goreleaser/v2
	go build -C test/tools/cyclonedx -o $(CURDIR)/bin/cyclonedx-gomod github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
	PATH=$(CURDIR)/bin:$$PATH bin/goreleaser release --clean $(RELEASE)

vulnerabilities:
	@if curl -sfo /dev/null --max-time 10 https://vuln.go.dev/index/db.json; then \
	  go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...; \
	else \
	  echo "no govulncheck (vuln.go.dev is out of reach); by hand, see docs/maintaining/vulnerabilities.md:" \
	    "$$(grep -o 'Looked at on [0-9-]*' docs/maintaining/vulnerabilities.md)"; \
	fi

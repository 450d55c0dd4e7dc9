.PHONY: test faults soak throughput

# Everything that CI runs.
test:
	go vet ./...
	go test ./...

# A thousand runs in which things go wrong, and every row of the fault matrix;
# with SEED=42 that run alone, printed: always the same.
faults:
ifdef SEED
	@go test ./test/faults -count=1 -v -run '^TestSeeds$$' -seed $(SEED)
else
	go test ./test/faults -count=1
endif

# How many memory calls a second the store takes, through the activity.
throughput:
	go test ./test/faults -run '^$$' -bench OwnTools

# Outages as long as they are said to be: a store that is away for ten minutes, a
# provider for an hour. It takes an hour and a half.
soak:
	go test ./test/e2e -count=1 -timeout 3h -run 'TestStallOfSQLite|TestOutageOfAProvider' -soak

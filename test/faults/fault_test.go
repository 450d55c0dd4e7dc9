package faults

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// kind is a kind of fault, each with a separate rate.
type kind string

const (
	readFails   kind = "read"   // of the store
	writeFails  kind = "write"  // of the transcript and the records
	memoryFails kind = "memory" // a write of an agent's memory
	toolFails   kind = "tool"   // an MCP server
	modelFails  kind = "model"
	crash       kind = "crash" // of the worker, before an activity or after it
	stall       kind = "stall" // of the worker, for longer than its heartbeats allow: see straggler
)

// profile sets how often faults occur. Each run takes its rates from these ranges.
type profile struct {
	name  string
	rates map[kind][2]float64
	// lasting is the rate at which a memory write fails at every attempt, whatever else can be written.
	lasting float64
	// always is an operation that fails at every attempt.
	always string
}

var profiles = []profile{
	{name: "calm"},
	{name: "memory writes fail", rates: map[kind][2]float64{memoryFails: {0.1, 0.5}}, lasting: 0.1},
	{name: "reads fail", rates: map[kind][2]float64{readFails: {0.05, 0.1}}},
	{name: "tools fail", rates: map[kind][2]float64{toolFails: {0.05, 0.1}}},
	{name: "crashes", rates: map[kind][2]float64{crash: {0.1, 0.3}}},
	{name: "mixed", rates: map[kind][2]float64{
		readFails: {0.1, 0.1}, writeFails: {0.1, 0.1}, memoryFails: {0.1, 0.1}, toolFails: {0.1, 0.1}, modelFails: {0.1, 0.1}, crash: {0.1, 0.1},
	}, lasting: 0.02},
	{name: "stalls", rates: map[kind][2]float64{stall: {0.02, 0.1}}},
	{name: "stalls and crashes", rates: map[kind][2]float64{stall: {0.05, 0.05}, crash: {0.1, 0.1}, toolFails: {0.05, 0.05}}},
}

// number is a hash of its arguments. All random choices use it, so that they do not depend on other activity.
func number(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	x := h.Sum64() // FNV's last bytes barely reach its high bits: mixed as in MurmurHash3
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// pick returns a number below n.
func pick(n int, parts ...any) int { return int(number(parts...) % uint64(n)) }

// chance returns true for the given fraction of all arguments.
func chance(rate float64, parts ...any) bool {
	return float64(number(parts...)>>11)/(1<<53) < rate
}

// place is the activity in which a fault occurs.
type place struct {
	execution           string
	iteration, position int // of the model call, or the call in its reply
	attempt             int
}

type placeKey struct{}

func placeOf(ctx context.Context) place {
	if p, ok := ctx.Value(placeKey{}).(place); ok {
		return p
	}
	info := activity.GetInfo(ctx)
	return place{execution: info.ActivityType.Name, attempt: int(info.Attempt)}
}

// faults decides which faults occur in one run.
type faults struct {
	seed uint64
	profile
	mu  sync.Mutex
	hit map[string][]string // by execution: faults, in order
	stalling
	offered  sync.Map // by place of a Generate attempt: hashes of the catalogues that it read
	outage   *outage
	failover *failover        // may be nil
	now      func() time.Time // by the workflows' clock
	together bool             // agents work at the same time
	// ordered leaves nothing to the machine: a listing runs before the model request beside it, no wait of a workflow ends
	// together with one of the server's, and no parallel call fails because it is the first to read a blob.
	ordered  bool
	listings sync.Map // if ordered, by execution: a channel that is closed when the listing's first attempt has ended
}

func newFaults(seed uint64, p profile) *faults {
	return &faults{seed: seed, profile: p, hit: map[string][]string{}, stalling: stalling{points: map[string]bool{}}}
}

// failure is a fault and its place.
type failure struct{ what string }

func (f failure) Error() string { return "injected: " + f.what }

// strike returns an error if the operation is to fail, by the hash of seed, execution, iteration, position,
// operation and attempt.
func (f *faults) strike(ctx context.Context, k kind, operation string, key transcript.Key) error {
	if f.failover != nil && operation != inMemory { // not within a transaction, which would block it
		f.failover.step(fmt.Sprintf("%s of %s", operation, placeOf(ctx).execution))
	}
	f.stand(ctx, operation, key)
	if err := f.away(ctx, k, operation, key); err != nil {
		return err
	}
	if f.rates[k][1] == 0 && f.always != operation {
		return nil
	}
	p := placeOf(ctx)
	if operation == "blob" && (f.together || f.ordered && p.position > 0) {
		return nil // which of several agents reads the plan for all is random, and which of several calls reads a catalogue
	}
	site := []any{f.seed, p.execution, p.iteration, p.position, k, operation, key.Iteration, key.Position}
	failing := chance(f.rate(k), append(site, p.attempt)...)
	if operation == inMemory && chance(f.lasting, append(site, "always")...) || operation == f.always {
		failing = true
	}
	if !failing {
		return nil
	}
	what := fmt.Sprintf("%s %s %d/%d in %d/%d attempt %d", k, operation, key.Iteration, key.Position, p.iteration, p.position, p.attempt)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hit[p.execution] = append(f.hit[p.execution], what)
	return failure{what}
}

// rate returns how often a kind of fault occurs in this run.
func (f *faults) rate(k kind) float64 {
	span := f.rates[k]
	return span[0] + (span[1]-span[0])*float64(pick(1000, f.seed, "rate", k))/1000
}

// log returns all faults, in an order that does not depend on concurrency.
func (f *faults) log() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for execution, all := range f.hit {
		for _, what := range all {
			lines = append(lines, execution+": "+what+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

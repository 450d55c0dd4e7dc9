package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

func rowOf(t testing.TB, name string) agent.Type {
	t.Helper()
	row, ok := agent.LookupType(name)
	if !ok {
		t.Fatalf("there is no type %q", name)
	}
	return row
}

// script returns the model's reply for each iteration; later ones get "done".
func script(replies ...llm.Response) func(place) llm.Response {
	return func(at place) llm.Response {
		if at.iteration > len(replies) {
			return llm.Response{Content: "done", Finish: llm.FinishStop}
		}
		return replies[at.iteration-1]
	}
}

// played runs agents and expects no problem.
func played(t *testing.T, r *run) {
	t.Helper()
	r.play()
	for _, problem := range r.check(t.Context()) {
		t.Error(r.normal(problem))
	}
}

// results returns the results of an execution.
func (r *run) results(t *testing.T, execution string) (all []transcript.Entry) {
	t.Helper()
	entries, err := r.store.Entries(t.Context(), r.scope(execution))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(entries, func(e transcript.Entry) bool { return e.Kind != transcript.KindResult })
}

// The table in the code equals the one in the specification.
func TestTable(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(table, agent.Types()); diff != "" {
		t.Errorf("types (-specification +code):\n%s", diff)
	}
	for _, row := range table {
		for _, name := range append([]string{row.Name}, row.Aliases...) {
			if got := rowOf(t, name); got.Name != row.Name {
				t.Errorf("%q is %s, want %s", name, got.Name, row.Name)
			}
		}
	}
}

// Each type is offered exactly its effective set, whatever the configuration removes: (*run).asked checks every
// request. For agents without a model, the set limits the calls of a plan.
func TestOffered(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for name, change := range map[string]func(*worker){
		"as it is":         func(*worker) {},
		"with a shell":     (*worker).shell,
		"that reads":       func(w *worker) { w.shell(); w.plan.Tools.Access = plan.AccessRead },
		"without two":      func(w *worker) { w.plan.Tools.Disabled = []string{"core_memory_append", "lab.set"} },
		"with three":       func(w *worker) { w.shell(); w.plan.Tools.Enabled = []string{"shell", "pause_heartbeats", "lab__read"} },
		"with none":        func(w *worker) { w.plan.Tools.Enabled = []string{} },
		"without a server": func(w *worker) { w.shell(); w.plan.Servers = nil },
	} {
		for _, row := range agent.Types() {
			t.Run(row.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				r := newRun(s, row.Name+" "+name, 1, profiles[0])
				w := newWorker(row, "A", r.id)
				change(&w)
				r.steps = everything()
				r.employ(w)
				played(t, r)
				if asked := len(r.times) > 0; asked != row.Pattern.Model() {
					t.Errorf("a model was asked: %t", asked)
				}
				if w.carriesOut() {
					r.checkRefusals(t, w)
				}
			})
		}
	}
}

// everything is one call of every tool that some agent has.
func everything() (calls []agent.ToolCall) {
	for _, call := range []string{
		`shell {"command":"echo x"}`, `core_memory_append {"label":"facts","content":"x"}`,
		`core_memory_replace {"label":"facts","old_content":"x","new_content":"y"}`,
		`archival_memory_insert {"content":"x"}`, `archival_memory_search {"query":"x"}`, `conversation_search {"query":"x"}`,
		`pause_heartbeats {"minutes":60}`, `read_result {"ref":"1/0"}`, `lab__read {"n":1}`, `lab__set {}`, `lab__once {}`, `lab__erase {}`,
	} {
		name, args, _ := strings.Cut(call, " ")
		calls = append(calls, agent.ToolCall{ID: name, Name: name, Arguments: args})
	}
	return calls
}

// checkRefusals checks that exactly the calls of tools that the agent does not have were refused.
func (r *run) checkRefusals(t *testing.T, w worker) {
	t.Helper()
	results := r.results(t, "work/A")
	if len(results) != len(everything()) {
		t.Errorf("%d results", len(results))
	}
	for _, e := range results {
		refused := e.ErrorType == tool.ErrorPermissionDenied || e.ErrorType == tool.ErrorUnknownTool
		if allowed := slices.Contains(w.effective(), strings.ReplaceAll(e.Call.Name, "__", ".")); allowed == refused {
			t.Errorf("%s: %s %s", e.Call.Name, e.ErrorType, e.Text)
		}
	}
}

// A call of a tool that the agent does not have is refused and the loop continues; its own tools run. Only
// types with heartbeats can pause them.
func TestForbiddenTools(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for _, row := range agent.Types() {
		if !row.Pattern.Tools() {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			r := newRun(s, row.Name, 1, profiles[0])
			w := newWorker(row, "A", r.id)
			r.steps = everything()
			r.employ(w)
			says := script(llm.Response{ToolCalls: everything()})
			r.says = func(at place) llm.Response {
				if at.iteration == 1 { // types without heartbeats ignore a person's signal too; it may follow the agent's own pause
					r.env.SignalWorkflow(workflows.SignalPauseHeartbeats, workflows.PauseHeartbeats{Minutes: new(60)})
				}
				return says(at)
			}
			played(t, r)
			r.checkRefusals(t, w)
			if want := map[bool]int{true: 2}[row.Pattern.Model()]; len(r.times) != want {
				t.Fatalf("%d model calls, want %d", len(r.times), want)
			}
			if !row.Pattern.Model() {
				return
			}
			slept := r.times[1].Sub(r.times[0]).Round(time.Minute)
			if want := map[bool]time.Duration{true: time.Hour}[row.Heartbeats]; slept != want {
				t.Errorf("it slept for %s, want %s", slept, want)
			}
		})
	}
}

// The store fails in 30 of 100 writes. Each of twenty appends is a success or an error result, and exactly the
// successes are stored: in one reply, in twenty replies, and in between.
func TestAppendsUnderFaults(t *testing.T) {
	t.Parallel()
	const appends, rounds = 20, 10
	s := storetest.Open(t)
	for _, perReply := range []int{1, 4, 20} {
		t.Run(fmt.Sprintf("%d in a reply", perReply), func(t *testing.T) {
			t.Parallel()
			succeeded, failed := 0, 0
			for seed := range uint64(rounds) {
				r := newRun(s, fmt.Sprintf("appends %d %d", perReply, seed), seed,
					profile{rates: map[kind][2]float64{memoryFails: {0.3, 0.3}}, lasting: 0.1})
				w := newWorker(rowOf(t, "memgpt"), "A", r.id)
				w.plan.MaxIterations = appends
				w.plan.MemoryBlocks[1].Limit = 20_000
				r.employ(w)
				r.says = script(slices.Repeat([]llm.Response{{ToolCalls: slices.Repeat(
					[]agent.ToolCall{{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"facts","content":"x"}`}}, perReply)}}, appends/perReply)...)
				played(t, r) // also compares the stored entries with the successes
				results := r.results(t, "work/A")
				if len(results) != appends {
					t.Errorf("seed %d: %d results of %d appends", seed, len(results), appends)
				}
				for _, e := range results {
					if e.Status == string(tool.StatusSuccess) {
						succeeded++
					} else {
						failed++
					}
				}
			}
			t.Logf("%d of %d appends succeeded, %d are error results", succeeded, rounds*appends, failed)
			if succeeded < rounds*appends/4 || failed == 0 {
				t.Errorf("%d appends succeeded and %d failed: one that cannot be written must not take the others with it", succeeded, failed)
			}
		})
	}
}

// A memory call whose activity never completes gets an error result. If it was made, its own result stays,
// whatever the workflow assumes.
func TestMemoryCallsThatAreLost(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for always, want := range map[string]string{
		"before CallOwnTools": "error Timeout, error Timeout", "after CallOwnTools": "success , success ",
		inMemory: "error Unavailable, success ",
	} {
		t.Run(always, func(t *testing.T) {
			t.Parallel()
			r := newRun(s, "lost "+always, 1, profile{always: always})
			r.employ(newWorker(rowOf(t, "memgpt"), "A", r.id))
			r.says = script(llm.Response{ToolCalls: []agent.ToolCall{
				{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"facts","content":"x"}`},
				{Name: agent.ToolArchivalMemorySearch, Arguments: `{"query":"x"}`},
			}})
			played(t, r)
			var got []string
			for _, e := range r.results(t, "work/A") {
				got = append(got, e.Status+" "+e.ErrorType)
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

// Agents of every type run at once, with the same blocks and the same words, and know nothing of one another:
// checkIsolation and checkMemory examine all of them.
func TestTypesDoNotMix(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRun(s, fmt.Sprintf("mixed %d", seed), seed, profiles[seed%2*5]) // calm, or mixed faults
			var workers []worker
			for _, row := range append(agent.Types(), rowOf(t, "memgpt"), rowOf(t, "letta_v1")) {
				workers = append(workers, newWorker(row, fmt.Sprintf("%c", 'A'+len(workers)), r.id))
			}
			r.employ(workers...)
			played(t, r)
		})
	}
}

// If a worker dies between the store's write and the completion of its activity, nothing is done twice. For
// real kills of processes see test/e2e (TestKill, TestKillInACallThatIsNotIdempotent, TestKillWhilePaused and
// TestKillAtRandom) and the kill test of internal/store.
func TestCrashesAfterWrites(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for _, row := range agent.Types() {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s %d", row.Name, seed), func(t *testing.T) {
				t.Parallel()
				r := newRun(s, fmt.Sprintf("crash %s %d", row.Name, seed), seed, profile{rates: map[kind][2]float64{crash: {0.4, 0.4}}})
				r.talking = seed == 3 && row.Pattern.Model()
				r.employ(newWorker(row, "A", r.id))
				played(t, r)
				if r.log() == "" {
					t.Error("nothing crashed")
				}
			})
		}
	}
}

// The same seed gives the same commands, byte for byte, and another seed gives others. Local activities take
// real time, and a stalled machine can make them too slow, so a difference only counts if it occurs again.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	runs := 32
	if *every {
		runs = 96
	}
	for shard := range 2 {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for n := shard; n < runs; n += 2 {
				seed := uint64(n%len(agent.Types())) + uint64(n)*uint64(len(profiles)*len(agent.Types())) + 5*uint64(len(agent.Types())) // mixed faults
				decided, diff := playedTwice(s, fmt.Sprint(n), seed)
				if diff != "" {
					t.Logf("seed %d, which is played once more (-first +second):\n%s", seed, diff)
					decided, diff = playedTwice(s, fmt.Sprint(n, " once more"), seed)
				}
				if diff != "" {
					t.Errorf("seed %d: what went wrong, and commands (-first +second):\n%s", seed, diff)
				}
				seen[decided]++
			}
			if len(seen) < runs/2*9/10 {
				t.Errorf("%d seeds gave %d different runs", runs/2, len(seen))
			}
		})
	}
}

// playedTwice returns the decisions of a seed's first run, and how the second run differs.
func playedTwice(s *store.Store, name string, seed uint64) (decided, diff string) {
	first, second := cast(s, "first-"+name, seed), cast(s, "again-"+name, seed)
	first.ordered, second.ordered = true, true
	first.play()
	second.play()
	return first.decided(), cmp.Diff(first.log(), second.log()) + cmp.Diff(first.decided(), second.decided())
}

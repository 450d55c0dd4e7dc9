package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// threeStages is a chain of three stages: an agent that changes the world, an agent that does not, and an agent
// that joins their findings.
func threeStages() string {
	head, _, _ := strings.Cut(labConfig, "agents:")
	agents, stages := "agents:\n", "agent_chains:\n  long:\n    alert_types: [lab]\n    stages:\n"
	for n := 1; n <= 3; n++ {
		agents += fmt.Sprintf("  Alpha%d: {description: digs, mcp_servers: [lab], tool_config: {repeats: allow}}\n"+
			"  Beta%d: {description: counts, mcp_servers: [lab]}\n  Joiner%d: {type: synthesis}\n", n, n, n)
		stages += fmt.Sprintf("      - {name: stage%d, agents: [{name: Alpha%d}, {name: Beta%d}], synthesis: {agent: Joiner%d}}\n", n, n, n, n)
	}
	return head + agents + stages
}

// threeStagesScript is the model's side of that chain, in small pieces.
func threeStagesScript(req llmtest.Request) llmtest.Reply {
	call := func(name, args string) llmtest.Call { return llmtest.Call{Name: "lab__" + name, Args: args} }
	replies := map[string][]llmtest.Reply{
		"Alpha": {
			llmtest.Calls(call("echo", `{"text":"hello"}`), call("counter", `{"file":"effects"}`)).Thinking("first a look"),
			llmtest.Calls(call("set", `{"file":"effects"}`), call("counter", `{"file":"effects"}`)),
		},
		"Beta": {llmtest.Calls(call("add", `{"a":2,"b":3}`))},
	}[strings.TrimRight(who(req), "123")]
	reply := llmtest.Text("I have seen enough.")
	if turn := turnOf(req); turn <= len(replies) {
		reply = replies[turn-1]
	}
	return reply.Chunked(4, 30*time.Millisecond)
}

// stops stalls something when an investigation reaches certain points. Each kind of point has as many stalls as
// it has durations.
type stops struct {
	freeze func() (resume func())
	mu     sync.Mutex
	seen   map[string]int                   // number of times each kind of point was reached
	due    map[string]map[int]time.Duration // by kind, then by its index within the kind
	log    []string
	cut    bool       // some stalls last longer than the heartbeat timeout
	busy   sync.Mutex // one stall at a time
	all    sync.WaitGroup
}

// The kinds of points.
const (
	itBegins   = "it begins"
	modelAsked = "a model is asked"
	replyComes = "a reply comes"
	toolRuns   = "a tool runs"
	hasReply   = "a reply is written"
	hasIntent  = "an intent is written"
	hasResult  = "a result is written"
	agentEnds  = "an agent has ended"
	stageEnds  = "a stage has ended"
	wordSaid   = "somebody speaks"
	itIsOver   = "its end is written"
)

// newStops plans the stalls. Each kind of point occurs at least three times, except the first and the last.
func newStops(freeze func() func(), random *rand.Rand, durations func(string, *rand.Rand) []time.Duration) *stops {
	s := &stops{freeze: freeze, seen: map[string]int{}, due: map[string]map[int]time.Duration{}}
	for _, kind := range []string{
		itBegins, modelAsked, replyComes, toolRuns, hasReply, hasIntent, hasResult, agentEnds, stageEnds, wordSaid, itIsOver,
	} {
		s.due[kind] = map[int]time.Duration{}
		order := random.Perm(3)
		for n, d := range durations(kind, random) {
			if kind == itBegins || kind == itIsOver {
				order[n] = 0
			}
			s.due[kind][1+order[n]] = d
			s.cut = s.cut || d > workflows.HeartbeatTimeout
		}
	}
	return s
}

// reach is called at a point. A stall that is due here has begun when reach returns, unless another one is in
// progress.
func (s *stops) reach(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[kind]++
	d, due := s.due[kind][s.seen[kind]]
	if !due {
		return
	}
	delete(s.due[kind], s.seen[kind])
	s.log = append(s.log, fmt.Sprintf("%s (%d): %s", kind, s.seen[kind], d))
	begun := make(chan struct{})
	s.all.Go(func() {
		free := s.busy.TryLock()
		if !free {
			close(begun)
			s.busy.Lock()
		}
		resume := s.freeze()
		if free {
			close(begun)
		}
		time.Sleep(d)
		resume()
		s.busy.Unlock()
	})
	<-begun
}

// A stall of Temporal at any point cuts off no running work, and nothing is lost or done twice.
func TestLongStallsAtEveryKindOfPoint(t *testing.T) {
	takesLong(t)
	t.Parallel()
	stallAtPoints(t, 11, (*world).behindAWire, func(string, *rand.Rand) []time.Duration { return []time.Duration{time.Second} })
}

// If Temporal stalls for longer than the heartbeat timeout, other workers take over, and the model still
// receives true information.
func TestSoakStallsAtEveryKindOfPoint(t *testing.T) {
	soaks(t)
	t.Parallel()
	stallAtPoints(t, anySeed(), (*world).behindAWire, func(kind string, random *rand.Rand) []time.Duration {
		longest := []time.Duration{5 * time.Second, 30 * time.Second}[random.IntN(2)]
		if kind == itBegins || kind == itIsOver {
			return []time.Duration{longest}
		}
		return []time.Duration{time.Second, 5 * time.Second, longest}
	})
}

// The same holds if a worker stalls and continues after the other worker has taken over its work.
func TestSoakStallsOfWorkersAtEveryKindOfPoint(t *testing.T) {
	soaks(t)
	t.Parallel()
	stallAtPoints(t, anySeed(), (*world).inTurns, func(string, *rand.Rand) []time.Duration { return []time.Duration{16 * time.Second} })
}

// behindAWire starts a worker that can be cut off from Temporal.
func (w *world) behindAWire() (freeze func() func()) {
	wire := newProxy(w.t, w.address)
	w.with("TEMPORAL_ADDRESS=" + wire.address).worker()
	return wire.freeze
}

// inTurns starts two workers and stalls them alternately.
func (w *world) inTurns() (freeze func() func()) {
	workers := []*process{w.worker(), w.worker()}
	return func() func() {
		slices.Reverse(workers)
		return workers[0].freeze()
	}
}

func stallAtPoints(t *testing.T, seed uint64, start func(*world) func() func(), durations func(string, *rand.Rand) []time.Duration) {
	random := rand.New(rand.NewPCG(seed, 0))
	var s *stops
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		s.reach(modelAsked)
		time.AfterFunc(60*time.Millisecond, func() { s.reach(replyComes) })
		return threeStagesScript(req)
	}, threeStages())
	w.dev("--no-worker")
	s = newStops(start(w), random, durations)
	const name = "case-00"
	id := workflows.InvestigationID(name, w.beginWith(name, agent.Request{AlertType: "lab", Data: []byte(`"` + name + `"`)}).GetRunID())
	said := w.attendTo(id, s)
	if result := w.end(name); result.Status != agent.StatusCompleted || result.Report != "I have seen enough." {
		t.Errorf("result: %+v", result)
	}
	s.all.Wait()
	t.Logf("seed %d, stalls:\n%s", seed, strings.Join(s.log, "\n"))
	for kind, due := range s.due {
		if len(due) > 0 {
			t.Errorf("no stall: %s (%v)", kind, due)
		}
	}
	w.wholeStages(id)
	w.toldTruly(id, s.cut)
	received := w.wordsTold()
	if s.cut { // a lost reply's call is reported again in the next turn
		lastTurns(received)
	}
	w.checkWords(id, said, received)
	for _, req := range w.model.Requests() {
		if req.Attempt > 1 && !s.cut {
			t.Errorf("%s was asked for its turn %d %d times", who(req), turnOf(req), req.Attempt)
		}
	}
}

// lastTurns keeps, for each agent, only the last of the turns in which it received a word.
func lastTurns(received map[string]map[string][]int) {
	for _, readers := range received {
		for reader, turns := range readers {
			readers[reader] = []int{slices.Max(turns)}
		}
	}
}

// attendTo watches an investigation until it ends, reports the points that it reaches, and sends messages at
// times.
func (w *world) attendTo(id string, s *stops) (said []word) {
	w.t.Helper()
	st, ctx, temporal := w.open(), w.t.Context(), w.client()
	count := map[string]int{}
	look := func(kind string, n int, err error) {
		for ; err == nil && count[kind] < n; count[kind]++ {
			s.reach(kind)
		}
	}
	deadline := time.Now().Add(20 * time.Minute)
	for step := 0; time.Now().Before(deadline); step++ {
		if inv, err := st.Investigation(ctx, id); err == nil {
			look(itBegins, 1, nil)
			if inv.EndedAt != nil {
				look(itIsOver, 1, nil)
				return said
			}
		}
		entries, err := st.After(ctx, id, 0, 0)
		of := func(kind transcript.Kind) (n int) {
			for _, e := range entries {
				if e.Kind == kind {
					n++
				}
			}
			return n
		}
		look(hasReply, of(transcript.KindReply), err)
		look(hasIntent, of(transcript.KindCall), err)
		look(hasResult, of(transcript.KindResult), err)
		effects, _ := os.ReadFile(filepath.Join(w.data, "effects")) // the file may not exist yet
		look(toolRuns, strings.Count(string(effects), "\n"), nil)
		stages, err := st.Stages(ctx, id)
		look(stageEnds, len(stages), err)
		executions, err := st.Executions(ctx, id)
		executions = slices.DeleteFunc(executions, func(e record.Execution) bool { return !e.Status.Closed() })
		look(agentEnds, len(executions), err)
		if step%20 == 10 && len(entries) > 0 {
			spoken := word{text: fmt.Sprintf("word-%04d.", len(said)), to: "case-00"}
			guide := workflows.Guide{Text: spoken.text, By: "Ada"}
			spoken.refused = temporal.SignalWorkflow(ctx, spoken.to, "", workflows.SignalGuide, guide) != nil
			said = append(said, spoken)
			s.reach(wordSaid)
		}
		time.Sleep(25 * time.Millisecond)
	}
	w.t.Errorf("%s does not end", id)
	return said
}

// wholeStages checks the transcripts and records of the three stages.
func (w *world) wholeStages(id string) {
	w.t.Helper()
	executions, err := w.open().Executions(w.t.Context(), id)
	if err != nil || len(executions) != 9 {
		w.t.Fatalf("executions: %+v, %v", executions, err)
	}
	for _, e := range executions {
		entries, err := w.open().Entries(w.t.Context(), transcript.Scope{Investigation: id, Execution: e.Name})
		if problem := hole(entries); err != nil || problem != "" || e.Status != agent.StatusCompleted {
			w.t.Errorf("%s is recorded as %s: %s, %v", e.Name, e.Status, problem, err)
		}
	}
}

// toldTruly compares what the model was told about each non-repeatable call with the tool server's own log. If
// calls may have been cut off, the model may be told that the result is unknown.
func (w *world) toldTruly(id string, cut bool) {
	w.t.Helper()
	body, err := os.ReadFile(filepath.Join(w.data, "effects"))
	if err != nil {
		w.t.Fatal(err)
	}
	made := map[string]int{}
	for key := range strings.FieldsSeq(string(body)) {
		made[path.Dir(key)]++ // without the digest of the call
	}
	for _, e := range w.entries(id) {
		if e.Kind != transcript.KindResult || e.Call.Name != "lab.counter" || e.Superseded {
			continue
		}
		n := made[fmt.Sprintf("%s/%s/%d/%d", id, e.Execution, e.Iteration, e.CallIndex())]
		received := e.ErrorType
		if e.Status == string(tool.StatusSuccess) {
			received = "success"
		}
		if n > 1 || received == "success" && n != 1 || received != "success" && (received != tool.ErrorOutcomeUnknown || !cut) {
			w.t.Errorf("%s, call %d of iteration %d was made %d times, and the model was told %s: %s",
				e.Execution, e.CallIndex(), e.Iteration, n, received, e.Text)
		}
	}
}

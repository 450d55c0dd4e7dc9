package start

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// incidents is a system with an investigation whose agent had read three results, in rows 2, 4 and 6. The report cites row 4. Without
// row 4, forks conclude something else; without row 6, they fail; the others conclude the same in other words.
type incidents struct {
	base.Service // nil: everything else panics
	whole        system.Record
	plan         plan.Plan
	answers      func(conclusions []string) string // of the agent that compares
	same         string                            // the control's conclusion; empty: that of the investigation
	waiting      chan struct{}                     // if set, forks run until they are cancelled, and each says here that it runs

	mu        sync.Mutex
	started   []system.Start
	cancelled []string
}

const cause = "## Root cause\n\nThe pool was cut."

func newIncidents() *incidents {
	f := &incidents{plan: plan.Plan{Stages: []plan.Stage{{Name: "dig", Agents: []plan.Agent{{Name: "Lead"}}}}}}
	add := func(key transcript.Key, kind transcript.Kind, body transcript.Body) {
		f.whole.Entries = append(f.whole.Entries, transcript.Entry{
			Scope: transcript.Scope{Execution: "dig/Lead"}, Key: key, Seq: int64(len(f.whole.Entries) + 1), Kind: kind, Body: body,
		})
	}
	for n := 1; n <= 4; n++ {
		call := transcript.Call{ID: fmt.Sprint(n), Name: "lab.read", Arguments: fmt.Sprintf(`{"n":%d}`, n)}
		reply := transcript.Body{Answer: transcript.Answer{Usage: &agent.Usage{ModelCalls: 1, InputTokens: 100, CostUSD: 0.01}}}
		if n < 4 {
			reply.Calls = []transcript.Call{call}
		}
		add(transcript.Key{Iteration: n}, transcript.KindReply, reply)
		if n < 4 {
			add(transcript.ResultKey(n, 0), transcript.KindResult, transcript.Body{Call: &call, Status: "success"})
		}
	}
	f.whole.Investigation = record.Investigation{
		ID: "lab:1", Status: agent.StatusCompleted, Report: cause, Labels: agent.Labels{Project: "payments", Tenant: "acme"},
		Envelope: record.Envelope{Evidence: "some"},
	}
	f.answers = func(conclusions []string) string {
		var all []string
		for n, conclusion := range conclusions {
			verdict := map[bool]string{true: "same", false: "different"}[strings.Contains(conclusion, "pool")]
			all = append(all, fmt.Sprintf(`{"number": %d, "verdict": %q, "reason": "because"}`, n+1, verdict))
		}
		return `{"verdicts": [` + strings.Join(all, ", ") + "]}"
	}
	return f
}

func (f *incidents) Whole(_ context.Context, id string) (system.Record, error) {
	if id != "lab" {
		return system.Record{}, fmt.Errorf("%s: %w", id, record.ErrNotFound)
	}
	return f.whole, nil
}
func (f *incidents) Meant(_ context.Context, _ string, unknown error) error { return unknown }

func (f *incidents) Plan(context.Context, system.Record) (plan.Plan, error) { return f.plan, nil }

func (f *incidents) Evidence(context.Context, system.Record) (evidence.Evidence, error) {
	item := evidence.Item{N: 1, Source: evidence.Source{Seq: 4}}
	return evidence.Evidence{Items: []evidence.Item{item}, Claims: []evidence.Claim{{Cites: []int{1, 7}}}}, nil
}

func (f *incidents) Start(_ context.Context, s system.Start) (system.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, s)
	return system.Handle{Workflow: fmt.Sprint("w", len(f.started))}, nil
}

func (f *incidents) Await(ctx context.Context, _ system.Handle) (system.Result, error) {
	if f.waiting != nil {
		f.waiting <- struct{}{}
		<-ctx.Done()
	}
	return system.Result{}, ctx.Err()
}

func (f *incidents) CancelAs(ctx context.Context, id string, _ agent.Identity) (system.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, id)
	return system.Handle{}, ctx.Err()
}

func (f *incidents) Outcome(_ context.Context, id string) (system.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	if _, err := fmt.Sscanf(id, "w%d", &n); err != nil {
		return system.Record{}, err
	}
	asked := f.started[n-1]
	r := record.Investigation{ID: id, Status: agent.StatusCompleted, Usage: agent.Usage{ModelCalls: 1, CostUSD: 0.01}}
	switch req := asked.Request; {
	case req.Fork == nil:
		var data struct{ Others []struct{ Conclusion string } }
		if err := json.Unmarshal([]byte(asked.Data), &data); err != nil {
			return system.Record{}, err
		}
		var others []string
		for _, other := range data.Others {
			others = append(others, other.Conclusion)
		}
		r.Report = f.answers(others)
	case slices.Contains([]string{"4", "dig/Helper", "L7"}, strings.Join(req.Fork.LeaveOut, " ")):
		r.Envelope.NotChecked = []record.NotChecked{{Server: "lab", Why: "it was left out"}} // no part of the conclusion
		r.Report = r.Envelope.NotCheckedParagraph() + "The network."
	case slices.Equal(req.Fork.LeaveOut, []string{"6"}):
		r.Status, r.Error = agent.StatusFailed, "no model answered"
	case req.Fork.At != "":
		r.Report = cmp.Or(f.same, cause)
	default:
		r.Report = "## Root cause\n\nSomebody cut the pool."
	}
	return system.Record{Investigation: r}, nil
}

// why runs the command.
func (f *incidents) why(ctx context.Context, args ...string) (out, said string, err error) {
	var stdout, stderr bytes.Buffer
	c := &base.CLI{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" },
		Client: func() base.Service { return f },
	}
	c.Server = "http://inquest.example"
	cmd := NewWhy(c)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// Inputs without which the conclusion changes come first, then those without which it is the same; failed forks count as neither.
func TestWhy(t *testing.T) {
	t.Parallel()
	f := newIncidents()
	out, said, err := f.why(t.Context(), "lab", "--yes", "--times", "2", "--by", "Ada")
	if err != nil {
		t.Fatal(err)
	}
	want := `CHANGED  LEFT OUT
2/2      row 4: lab.read {"n":2}
0/2      row 2: lab.read {"n":1}
-        row 6: lab.read {"n":3}
0/2      nothing

The conclusion of lab:1: The pool was cut.
Without row 4: The network.
Without row 6: no conclusion: it failed: no model answered
Used: $0.0900, 0 tokens in, 0 out. The forks: starter list --meta why=lab:1
`
	if diff := gocmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	estimate := "8 forks of lab:1, without one of 3 calls or without none: about $0.1800, 1,800 tokens in, 0 out."
	if !strings.Contains(said, estimate) || !strings.Contains(said, "8 of 8 forks ended") {
		t.Errorf("said: %s", said)
	}
	forks := map[string]int{}
	for _, s := range f.started {
		req := s.Request
		if req.By != "Ada" || req.Priority != 5 || req.Metadata["why"] != "lab:1" || !req.Trial {
			t.Errorf("started: %+v", req)
		}
		if req.Fork != nil {
			forks[fmt.Sprintf("%s of %s without %v at %s", req.Fork.Tools, req.Fork.Of, req.Fork.LeaveOut, req.Fork.At)]++
		} else if req.Chain != configuration.OfAgent+"ConclusionAgent" || req.Project != "payments" || req.Tenant != "acme" {
			t.Errorf("compared by: %+v", req)
		}
	}
	all := map[string]int{
		"tape of lab:1 without [2] at ": 2, "tape of lab:1 without [4] at ": 2, "tape of lab:1 without [6] at ": 2,
		"tape of lab:1 without [] at 3": 2,
	}
	if diff := gocmp.Diff(all, forks); diff != "" || len(f.started) != 9 {
		t.Errorf("%d investigations: %s", len(f.started), diff)
	}
}

// Agents and learnings are left out like results.
func TestWhyWithoutOthers(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"agents": `CHANGED  LEFT OUT
1/1      dig/Helper
0/1      dig/Lead
0/1      nothing

The conclusion of lab:1: The pool was cut.
Without dig/Helper: The network.
fix/Last cannot be left out: stage fix would have no agent
`,
		"memories": `CHANGED  LEFT OUT
1/1      L7: The pool is small.
0/1      L8: It is Monday.
0/1      nothing

The conclusion of lab:1: The pool was cut.
Without L7: The network.
`,
	} {
		f := newIncidents()
		f.plan.Memory = &plan.Memory{Shown: []plan.Learning{{ID: 8, Text: "It is Monday."}, {ID: 7, Text: "The pool is small."}}}
		dig := &f.plan.Stages[0]
		dig.Agents, dig.Synthesis = append(dig.Agents, plan.Agent{Name: "Helper"}), &plan.Agent{Name: "Join"}
		f.plan.Stages = append(f.plan.Stages, plan.Stage{Name: "fix", Agents: []plan.Agent{{Name: "Last"}}})
		for _, execution := range []string{"dig/Helper", "dig/Join", "fix/Last"} {
			f.whole.Entries = append(f.whole.Entries, transcript.Entry{
				Scope: transcript.Scope{Execution: execution}, Key: transcript.Key{Iteration: 1}, Seq: int64(len(f.whole.Entries) + 1),
				Kind: transcript.KindReply, Body: transcript.Body{Answer: transcript.Answer{Usage: &agent.Usage{ModelCalls: 1}}},
			})
		}
		out, said, err := f.why(t.Context(), "lab", "--yes", "--leave-out", kind)
		out, _, _ = strings.Cut(out, "Used:")
		estimate := "3 forks of lab:1, without one of 2 " + map[string]string{"agents": "agents", "memories": "learnings"}[kind]
		if diff := gocmp.Diff(want, out); err != nil || diff != "" || !strings.Contains(said, estimate) {
			t.Errorf("%s: %v; said %s%s", kind, err, said, diff)
		}
	}
}

// What is cited comes first, so it stays within limits. Scripts get everything as JSON.
func TestWhyWithinLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		reason string
	}{
		"limit":  {[]string{"--limit", "1"}, "beyond --limit 1"},
		"budget": {[]string{"--budget", "0.045"}, "beyond --budget"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := newIncidents().why(t.Context(), append(test.args, "lab", "--yes", "--json")...)
			var got whyResult
			if err := errors.Join(err, json.Unmarshal([]byte(out), &got)); err != nil {
				t.Fatal(err)
			}
			if len(got.Without) != 1 || got.Without[0].Rows[0] != 4 || got.Without[0].Changed != 1 || got.Control.Same != 1 {
				t.Errorf("tried: %+v, control %+v", got.Without, got.Control)
			}
			var left []string
			for _, in := range got.NotTried {
				reason, _, _ := strings.Cut(in.Problem, ":")
				left = append(left, fmt.Sprint(in.Rows[0], " ", reason))
			}
			if slices.Sort(left); !slices.Equal(left, []string{"2 " + test.reason, "6 " + test.reason}) {
				t.Errorf("not tried: %q", left)
			}
		})
	}
}

// Once the forks have used the budget up, no further one starts.
func TestWhyStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	f := newIncidents()
	for n := range f.whole.Entries {
		if u := f.whole.Entries[n].Usage; u != nil {
			u.CostUSD = 0.0001 // the forks cost more than expected
		}
	}
	out, _, err := f.why(t.Context(), "lab", "--yes", "--budget", "0.02", "--parallel", "1")
	if err != nil || strings.Count(out, "no conclusion: not started: the budget is used up") != 2 || len(f.started) != 3 {
		t.Errorf("%v, %d investigations:\n%s", err, len(f.started), out)
	}
}

// Without the agent's answer, the conclusions are there, but nothing is counted, and the command fails.
func TestWhyWithoutComparison(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"I do not know.":   "the answer in w5: invalid character 'I'",
		`{"verdicts": []}`: "no conclusion could be compared",
		`{"verdicts": [{"number": 9, "verdict": "same"}]}`:    `verdict "same" on number 9 of 3`,
		`{"verdicts": [{"number": 1, "verdict": "similar"}]}`: `verdict "similar" on number 1 of 3`,
	} {
		f := newIncidents()
		f.same = "## Root cause\n\nA cut pool." // no text is equal
		f.answers = func([]string) string { return answer }
		out, _, err := f.why(t.Context(), "lab", "--yes")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(out, "Without row 4: not compared: The network.") {
			t.Errorf("%s: %v, want %q:\n%s", answer, err, want, out)
		}
	}
}

// Nothing starts if the command cannot answer, or was not confirmed.
func TestWhyNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *incidents)
		args   []string
		want   string
	}{
		"unconfirmed": {nil, []string{"lab"}, "nothing was started: confirm with --yes"},
		"flags": {
			nil, []string{"lab", "--times", "0", "--limit", "101", "--budget", "-1", "--leave-out", "all"},
			"--times 0: expected a number from 1 to 20\n--limit 101: expected a number from 1 to 100\n" +
				"--leave-out \"all\": use results, agents or memories\n--budget -1: expected dollars, 0 or more",
		},
		"unknown": {nil, []string{"other"}, "other: not found"},
		"running": {
			func(f *incidents) { f.whole.Investigation.Status = agent.StatusRunning }, []string{"lab", "--yes"},
			"lab:1 has no conclusion: it is running",
		},
		"no report": {func(f *incidents) { f.whole.Investigation.Report = "" }, []string{"lab", "--yes"}, "lab:1 has no conclusion"},
		"people": {
			func(f *incidents) { f.plan.Stages[0].Routing.ErrorNext = plan.TargetClarification }, []string{"lab", "--yes"},
			"stage dig asks people",
		},
		"nothing read": {
			func(f *incidents) { f.whole.Entries = f.whole.Entries[:2] }, []string{"lab", "--yes"},
			"lab:1 has no call that can be left out\nrow 2: no reply had read row 2 (lab.read of dig/Lead)",
		},
		"no prices": {
			func(f *incidents) {
				for n := range f.whole.Entries {
					f.whole.Entries[n].Usage = &agent.Usage{InputTokens: 1}
				}
			}, []string{"lab", "--budget", "1", "--yes"}, "--budget: the models of lab:1 have no prices",
		},
		"too expensive": {nil, []string{"lab", "--budget", "0.001", "--yes"}, "the forks would cost about $0.0400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newIncidents()
			if test.change != nil {
				test.change(f)
			}
			out, _, err := f.why(t.Context(), test.args...)
			_, usage := errors.AsType[*command.UsageError](err)
			if err == nil || !strings.Contains(err.Error(), test.want) || out != "" || len(f.started) > 0 || !usage && name != "unknown" {
				t.Errorf("%v, want %q; %d investigations", err, test.want, len(f.started))
			}
		})
	}
}

// An interrupted command cancels its forks, and says where they are.
func TestWhyIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--json"}} {
		f := newIncidents()
		f.waiting = make(chan struct{})
		ctx, interrupt := context.WithCancel(t.Context())
		go func() {
			for range 2 {
				<-f.waiting
			}
			interrupt()
		}()
		out, said, err := f.why(ctx, append(flags, "lab", "--yes", "--parallel", "2")...)
		told := out == "" && strings.Contains(said, "are cancelled, and no conclusion was compared. All of them: starter list --meta why=lab:1")
		if len(flags) > 0 {
			var got whyResult
			told = json.Unmarshal([]byte(out), &got) == nil && got.Interrupted
		}
		if !told || !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %s%s", err, out, said)
		}
		if slices.Sort(f.cancelled); !slices.Equal(f.cancelled, []string{"w1", "w2"}) || len(f.started) != 2 {
			t.Errorf("%d started, cancelled: %q", len(f.started), f.cancelled)
		}
	}
}

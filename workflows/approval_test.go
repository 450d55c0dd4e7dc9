package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// askApproval requests tool calls that need a person's approval: c1_0, c1_1, …
func askApproval(tools ...string) activities.GenerateOut {
	out := ask(tools...)
	for n := range out.Calls {
		out.Calls[n].Approve = &activities.Approve{ID: "c1_" + string(rune('0'+n)), Risk: agent.RiskHigh, Arguments: `{"pod":"db-1"}`}
	}
	return out
}

// decide sends the update. Once it is handled, refused says why it was rejected.
func decide(t *testing.T, env *testsuite.TestWorkflowEnvironment, d Decide) (refused *string) {
	t.Helper()
	refused = new(string)
	env.UpdateWorkflow(UpdateDecide, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { *refused = err.Error() },
		OnComplete: func(_ any, err error) {
			if err != nil {
				t.Errorf("decide %+v: %v", d, err)
			}
		},
	}, d)
	return refused
}

func TestApproval(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		name string
		at   map[time.Duration]func(*testing.T, *testsuite.TestWorkflowEnvironment)
		want []string // the error type of each result that the workflow decided, with a part of its text
		made int      // calls
	}{
		{
			name: "approved", made: 2,
			at: map[time.Duration]func(*testing.T, *testsuite.TestWorkflowEnvironment){
				time.Minute: func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
					decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada"})
					decide(t, env, Decide{CallID: "c1_1", Approved: &yes, By: "Ada"})
				},
			},
		},
		{
			name: "one of two", made: 1, want: []string{"PermissionDenied: Tool b was not called: denied by Ada (too risky)."},
			at: map[time.Duration]func(*testing.T, *testsuite.TestWorkflowEnvironment){
				50 * time.Minute: func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
					decide(t, env, Decide{CallID: "c1_1", Approved: &no, By: "Ada", Reason: "too risky"})
					decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada"})
				},
			},
		},
		{name: "nobody decides", want: []string{"PermissionDenied: Tool a was not called: denied (the approval timed out).",
			"PermissionDenied: Tool b was not called"}},
		{
			name: "concluded", want: []string{"PermissionDenied: Tool a was not called: denied (there was no decision before",
				"PermissionDenied: Tool b was not called"},
			at: map[time.Duration]func(*testing.T, *testsuite.TestWorkflowEnvironment){
				time.Minute: func(_ *testing.T, env *testsuite.TestWorkflowEnvironment) { env.SignalWorkflow(SignalConclude, nil) },
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(askApproval("a", "b"), say("x"))}
			env := newEnv(t, f)
			for at, do := range tt.at {
				env.RegisterDelayedCallback(func() { do(t, env) }, at)
			}
			in := agentInput(agent.Iterating, 3)
			in.Agent.Timeouts.Agent = plan.Duration(time.Minute) // waiting for people does not count
			env.ExecuteWorkflow(IteratingAgent, in)
			if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
				t.Fatalf("got %+v", got)
			}
			if len(f.called) != tt.made {
				t.Errorf("%d calls were made, want %d", len(f.called), tt.made)
			}
			for _, call := range f.called {
				if call.Decision == nil || !call.Decision.Approved || call.Decision.By != "Ada" {
					t.Errorf("made without approval: %+v", call)
				}
			}
			var results []activities.Input
			for _, input := range f.generated[1].Inputs {
				if input.Kind == activities.InputResult {
					results = append(results, input)
				}
			}
			if len(results) != len(tt.want) {
				t.Fatalf("results %+v, want %q", results, tt.want)
			}
			for n, want := range tt.want {
				if got := results[n].ErrorType + ": " + results[n].Text; !strings.HasPrefix(got, want) {
					t.Errorf("result %q, want %q", got, want)
				}
			}
		})
	}
}

func TestDecisionsThatDecideNothing(t *testing.T) {
	t.Parallel()
	yes := true
	f := &fake{model: script(askApproval("a", "b"), say("x"))}
	env := newEnv(t, f)
	refused := map[string]*string{}
	env.RegisterDelayedCallback(func() {
		refused["long name"] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: strings.Repeat("x", 70_000)})
		refused["turned name"] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada\u202eboB"})
		refused["long reason"] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, Reason: strings.Repeat("é", MaxReason+1)})
		refused["long question"] = decide(t, env, Decide{CallID: "c1_0", Ask: strings.Repeat("é", MaxReason+1)})
		refused["unknown"] = decide(t, env, Decide{CallID: "c9_0", Approved: &yes})
		refused["no answer"] = decide(t, env, Decide{CallID: "c1_0"})
		refused["the first"] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada", Reason: strings.Repeat("é", MaxReason)})
		refused["twice"] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Bob"})
	}, time.Minute)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	for what, want := range map[string]string{
		"long name": `the name of a person or group is longer than 200 bytes`, "long reason": "the reason is longer than 1000 characters",
		"long question": "the question is longer than 1000 characters",
		"turned name":   `the name of a person or group has control or invisible characters`,
		"unknown":       `no pending call "c9_0"`, "no answer": `set one of "approved"`, "the first": "",
		"twice": `already decided: approved by Ada`,
	} {
		if got := *refused[what]; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		late := what == "unknown" || what == "twice"
		if got := *refused[what]; strings.Contains(got, "type: "+ErrorNotPending) != late {
			t.Errorf("%s: %q; %s expected: %t", what, got, ErrorNotPending, late)
		}
	}
}

// TestManyDecisions: many decisions do not prevent the agent's next model call: denials, and approvals of calls that are cut off.
func TestManyDecisions(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{
		"plain": strings.Repeat("r", MaxReason), "special": strings.Repeat("<", MaxReason), "no text": strings.Repeat("\xff", MaxReason),
	} {
		by := strings.ToValidUTF8(reason[:agent.MaxBy], strings.Repeat("x", agent.MaxBy))
		for _, approved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, approved: %t", name, approved), func(t *testing.T) {
				t.Parallel()
				out := ask(slices.Repeat([]string{"server.tool"}, 64)...)
				for n := range out.Calls {
					out.Calls[n].Approve = &activities.Approve{
						ID: fmt.Sprintf("c1_%d", n), Risk: agent.RiskHigh, Digest: strings.Repeat("d", 64), Edit: strings.Repeat("e", 64),
					}
				}
				f := &fake{model: script(out, say("x"))}
				env := guarded(t, f)
				env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
				env.RegisterDelayedCallback(func() {
					for n := range out.Calls {
						decide(t, env, Decide{CallID: fmt.Sprintf("c1_%d", n), Approved: &approved, By: by, Reason: reason})
					}
				}, time.Minute)
				in := agentInput(agent.Iterating, 3)
				in.Agent.Timeouts.Agent = plan.Duration(10 * time.Minute)
				env.ExecuteWorkflow(IteratingAgent, in)
				got := agentEnd(t, env)
				if got.Status != agent.StatusCompleted || len(f.generated) != 2 || len(f.generated[1].Inputs) < 64 {
					t.Fatalf("%d model calls: %+v", len(f.generated), got)
				}
				for _, in := range f.generated[1].Inputs[:64] {
					if in.Decision == nil || in.Decision.Approved != approved || in.Text == "" || approved && in.Decision.Reason == "" {
						t.Fatalf("an input: %+v", in)
					}
				}
			})
		}
	}
}

// TestApprovalIsSeenInTheInvestigation: the investigation lists the waiting call, and all clocks are stopped.
func TestApprovalIsSeenInTheInvestigation(t *testing.T) {
	t.Parallel()
	yes := true
	f := &fake{plan: planOf([]string{"default"})}
	f.plan.Timeout, f.plan.Stages[0].Timeout = plan.Duration(time.Minute), plan.Duration(time.Minute)
	f.model = script(askApproval("a"), say("x"))
	env := newEnv(t, f)
	var during, after Status
	env.RegisterDelayedCallback(func() {
		during = statusOf(t, env)
		w := during.Waiting
		if len(w) != 1 {
			t.Errorf("status: %+v", during)
			return
		}
		err := env.UpdateWorkflowByID(w[0].WorkflowID, UpdateDecide, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
		}, Decide{CallID: w[0].CallID, Approved: &yes})
		if err != nil {
			t.Error(err)
		}
	}, 30*time.Minute)
	investigate(t, env)
	after = statusOf(t, env)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if w := during.Waiting[0]; w.CallID != "c1_0" || w.Tool != "a" || w.Agent != "A" || w.Risk != agent.RiskHigh || w.Arguments == "" {
		t.Errorf("waiting for %+v", w)
	}
	if !strings.Contains(during.WaitingFor, "approve or deny 1 tool call") || len(after.Waiting) != 0 || len(f.called) != 1 {
		t.Errorf("during: %+v\nafter: %+v", during, after)
	}
}

func statusOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (s Status) {
	t.Helper()
	value, err := env.QueryWorkflow(QueryStatus)
	if err == nil {
		err = value.Get(&s)
	}
	if err != nil {
		t.Error(err)
	}
	return s
}

// TestApprovalOfAnotherCall: only the approved call runs. A decision about another call is rejected. If the call
// has changed since its approval, it needs a new one.
func TestApprovalOfAnotherCall(t *testing.T) {
	t.Parallel()
	yes := true
	asked := askApproval("a")
	asked.Calls[0].Approve.Digest = "d1"
	f := &fake{model: script(asked, say("x"))}
	f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
		if in.Decision.Digest == "d2" {
			return activities.CallToolOut{Status: "success"}, nil
		}
		return activities.CallToolOut{Approve: &activities.Approve{ID: "c1_0", Digest: "d2", Arguments: "{}", Edit: "blob"}}, nil
	}
	env := newEnv(t, f)
	refused := map[string]*string{}
	for at, digest := range map[int]string{1: "d2", 2: "d1", 3: "d1", 4: "d2"} {
		env.RegisterDelayedCallback(func() {
			refused[fmt.Sprint(at)] = decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada", Digest: digest})
		}, time.Duration(at)*time.Minute)
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || len(f.called) != 2 {
		t.Fatalf("%d calls were tried; %+v", len(f.called), got)
	}
	if edits := f.called[0].Decision.Edit + f.called[1].Decision.Edit; edits != "blob" {
		t.Errorf("a person's arguments: %q", edits)
	}
	for at, want := range map[string]string{"1": "its digest is now d1", "2": "", "3": "its digest is now d2", "4": ""} {
		if got := *refused[at]; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("decision %s: refused with %q, want %q", at, got, want)
		}
	}
}

// TestPauseIsNotPeoplesTime: during a pause, the time to decide or answer does not pass, and no expiry
// is shown.
func TestPauseIsNotPeoplesTime(t *testing.T) {
	t.Parallel()
	yes := true
	const pause, goOn, expires = 10 * time.Minute, 3 * time.Hour, 3*time.Hour + 50*time.Minute
	for name, tt := range map[string]struct {
		reply  activities.GenerateOut // the first
		output string                 // the stage's
		waits  func(Status) []time.Time
		decide func(*testing.T, *testsuite.TestWorkflowEnvironment, Status)
		ends   agent.EndReason // if nobody decides
	}{
		"a call": {
			reply: askApproval("a"), output: "{}", ends: agent.EndCompleted,
			waits: func(s Status) (out []time.Time) {
				for _, a := range s.Waiting {
					out = append(out, a.Expires)
				}
				return out
			},
			decide: func(t *testing.T, env *testsuite.TestWorkflowEnvironment, s Status) {
				quiet := &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {}}
				if err := env.UpdateWorkflowByID(s.Waiting[0].WorkflowID, UpdateDecide, "", quiet, Decide{CallID: "c1_0", Approved: &yes}); err != nil {
					t.Error(err)
				}
			},
		},
		"a question": {
			reply: say("x"), output: `{"outcome":"confirm"}`, ends: agent.EndInterruptExpired,
			waits: func(s Status) (out []time.Time) {
				for _, q := range s.Questions {
					out = append(out, q.Expires)
				}
				return out
			},
			decide: func(t *testing.T, env *testsuite.TestWorkflowEnvironment, _ Status) {
				answer(t, env, Answer{Approved: &yes}, "")
			},
		},
	} {
		for _, decided := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", decided), func(t *testing.T) {
				t.Parallel()
				f := &fake{plan: planOf([]string{"default"}), output: outputs(t, map[string]string{"s1": tt.output})}
				f.model = script(tt.reply, say("x"))
				env := newEnv(t, f)
				start := env.Now()
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalPause, nil) }, pause)
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalResume, nil) }, goOn)
				for at, want := range map[time.Duration]time.Time{
					pause - time.Minute: start.Add(time.Hour), goOn - time.Minute: {}, expires - time.Minute: start.Add(expires),
				} {
					env.RegisterDelayedCallback(func() {
						now := statusOf(t, env)
						f.knows(t, now)
						got := tt.waits(now)
						if len(got) != 1 || got[0].Sub(want).Abs() > time.Second {
							t.Errorf("after %s it expires at %v, want %s", at, got, want)
							return
						}
						if decided && at > goOn {
							tt.decide(t, env, now)
						}
					}, at)
				}
				got := investigated(t, env)
				ended, want, ends := env.Now().Sub(start), expires, tt.ends
				if decided {
					want, ends = expires-time.Minute, agent.EndCompleted
				}
				if got.EndReason != ends || (ended-want).Abs() > time.Second || name == "a call" && len(f.called) == 1 != decided {
					t.Errorf("%s after %s, want %s after %s; %d calls", got.EndReason, ended, ends, want, len(f.called))
				}
			})
		}
	}
}

// TestDecisionsAtTheEnd: a decision about a call that is not made reaches the audit trail, whether the agent is cut off by a
// limit or cancelled while other calls run.
func TestDecisionsAtTheEnd(t *testing.T) {
	t.Parallel()
	const stillWaiting = "The call was not made: the agent was stopped while the call waited for other calls to end."
	yes, no := true, false
	for _, tt := range []struct {
		name     string
		approved *bool // the last call
		cancel   bool
		want     string
	}{
		{"approved, then cut off", &yes, false, "approved by Ada: " + stillWaiting},
		{"approved, then cancelled", &yes, true, "approved by Ada: " + stillWaiting},
		{"denied, then cut off", &no, false, "denied by Ada: Tool b was not called: denied by Ada."},
		{"denied, then cancelled", &no, true, "denied by Ada: Tool b was not called: denied by Ada."},
		{"not decided, then cancelled", nil, true,
			"denied: Tool b was not called: denied (the agent was cancelled before the call was decided on)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := ask(append(slices.Repeat([]string{"a"}, MaxParallelCalls), "b")...)
			last := MaxParallelCalls
			asked.Calls[last].Approve = &activities.Approve{ID: "c1", Arguments: "{}"}
			f := &fake{model: script(asked, say("what is known"))}
			env := newEnv(t, f)
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
			if tt.approved != nil {
				env.RegisterDelayedCallback(func() { decide(t, env, Decide{CallID: "c1", Approved: tt.approved, By: "Ada"}) }, time.Minute)
			}
			if tt.cancel {
				env.RegisterDelayedCallback(env.CancelWorkflow, 2*time.Minute)
			}
			in := agentInput(agent.Iterating, 3)
			in.Agent.Timeouts.Agent = plan.Duration(10 * time.Minute)
			env.ExecuteWorkflow(IteratingAgent, in)
			results := f.decided
			for _, in := range f.generated {
				results = append(results, in.Inputs...)
			}
			var got []string
			for _, in := range results {
				if in.Call == last && in.Decision != nil {
					got = append(got, fmt.Sprintf("%s: %s", in.Decision, in.Text))
				}
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecisionsWaitForTheStore: after an agent's end, decisions are recorded even if the store is away for minutes. Later
// steps require the record.
func TestDecisionsWaitForTheStore(t *testing.T) {
	t.Parallel()
	no := false
	asked := ask("a", "b")
	asked.Calls[1].Approve = &activities.Approve{ID: "c1", Arguments: "{}"}
	f := &fake{model: script(asked, say("x"))}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	back := env.Now().Add(4*time.Minute + 20*time.Second) // the environment tries ten times, for two and a half minutes
	tries := 0
	env.OnActivity(f.RecordDecided, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, in activities.DecidedIn) (activities.DecidedOut, error) {
			if tries++; env.Now().Before(back) {
				return activities.DecidedOut{}, temporal.NewApplicationError("the store is away", activities.ErrorStore)
			}
			return f.RecordDecided(ctx, in)
		})
	env.RegisterDelayedCallback(func() { decide(t, env, Decide{CallID: "c1", Approved: &no, By: "Ada"}) }, time.Minute)
	env.RegisterDelayedCallback(env.CancelWorkflow, 2*time.Minute)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	got := agentEnd(t, env)
	if len(f.decided) != 1 || tries < 2 || !slices.Contains(got.Seen, transcript.Mark{Seq: 99}) {
		t.Errorf("%d tries, recorded %+v; %+v", tries, f.decided, got)
	}
}

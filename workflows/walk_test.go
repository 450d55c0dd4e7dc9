package workflows

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// outputs returns the outputs of stage runs as JSON objects, by name of the run.
func outputs(t *testing.T, byRun map[string]string) func(string) activities.SaveStageOut {
	return func(stage string) (out activities.SaveStageOut) {
		if text, ok := byRun[stage]; ok {
			if err := json.Unmarshal([]byte(text), &out.Fields); err != nil {
				t.Error(err)
			}
			_ = json.Unmarshal(out.Fields["outcome"], &out.Outcome)
		}
		return out
	}
}

// ran lists the runs of stages in the order in which they ended.
func (f *fake) ran() string {
	var names []string
	for _, in := range f.saved {
		names = append(names, in.Stage.Name)
	}
	return strings.Join(names, " ")
}

// inOrder sorts the first two ends if they are those of the two stages.
func (f *fake) inOrder(first, second string) {
	if len(f.saved) > 1 && f.saved[0].Stage.Name == second && f.saved[1].Stage.Name == first {
		f.saved[0], f.saved[1] = f.saved[1], f.saved[0]
	}
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	one := []string{"default"}
	tests := []struct {
		name   string
		stages func([]plan.Stage)
		bounds plan.Bounds
		says   map[string]string
		want   string // the runs
		status agent.Status
		end    agent.EndReason
	}{
		{
			name: "a rule goes back", says: map[string]string{"s3": `{"ok":false}`, "s3#2": `{"ok":true}`},
			stages: func(s []plan.Stage) {
				s[2].Routing.Rules = []plan.Rule{{Condition: "ok", Value: []byte(`false`), Target: "s2"}}
			},
			want: "s1 s2 s3 s2#2 s3#2", status: agent.StatusCompleted, end: agent.EndCompleted,
		},
		{
			name: "too many passes", says: map[string]string{"s2": `{"outcome":"replan"}`, "s2#2": `{"outcome":"replan"}`},
			stages: func(s []plan.Stage) { s[1].Routing.LoopTarget = "s1" }, bounds: plan.Bounds{MaxPasses: 2},
			want: "s1 s2 s1#2 s2#2", status: agent.StatusCompleted, end: agent.EndMaxPasses,
		},
		{
			name: "an end", says: map[string]string{"s1": `{"n":1.0}`},
			stages: func(s []plan.Stage) {
				s[0].Routing.Rules = []plan.Rule{{Condition: "n", Value: []byte(`1`), Target: "end"}}
			},
			want: "s1", status: agent.StatusCompleted, end: agent.EndCompleted,
		},
		{
			name:   "in parallel",
			stages: func(s []plan.Stage) { s[2].Routing.Requires = []string{"s1", "s2"} },
			want:   "s1 s2 s3", status: agent.StatusCompleted, end: agent.EndCompleted,
		},
		{
			name: "a loop without a target", says: map[string]string{"s1": `{"outcome":"loop_back"}`},
			stages: func([]plan.Stage) {}, want: "s1", status: agent.StatusFailed, end: agent.EndPolicyViolation,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf(one, one, one), output: outputs(t, tt.says)}
			tt.stages(f.plan.Stages)
			f.plan.Bounds = tt.bounds
			env := newEnv(t, f)
			got := investigated(t, env)
			f.inOrder("s1", "s2") // they may end in any order where they run in parallel
			if diff := cmp.Diff([]string{tt.want, string(tt.status), string(tt.end)},
				[]string{f.ran(), string(got.Status), string(got.EndReason)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// investigated runs an investigation to its end, even to a failure.
func investigated(t *testing.T, env *testsuite.TestWorkflowEnvironment) (result InvestigationResult) {
	t.Helper()
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	value, err := env.QueryWorkflow(QueryResult)
	if err == nil {
		err = value.Get(&result)
	}
	if err != nil || !env.IsWorkflowCompleted() {
		t.Fatalf("completed: %t, %v", env.IsWorkflowCompleted(), err)
	}
	return result
}

// TestEarlierPasses: results of earlier passes are void, but agents still see them.
func TestEarlierPasses(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}), output: outputs(t, map[string]string{"s2": `{"outcome":"replan"}`})}
	f.plan.Stages[1].Routing.LoopTarget = "s1"
	investigated(t, newEnv(t, f))
	second := f.generated[2]
	if len(second.Prior) != 0 || len(second.Earlier) != 2 || second.Earlier[1].Execution != "s2/A" {
		t.Errorf("the second pass begins with %+v and %+v", second.Prior, second.Earlier)
	}
	if last := f.finished[0].Results; len(last) == 0 || last[len(last)-1].Execution != "s2#2/A" {
		t.Errorf("results in the end: %+v", last)
	}
}

// TestReportOfAnEarlierPass: if a pass produces no result, the report uses that of the previous pass.
func TestReportOfAnEarlierPass(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}), output: outputs(t, map[string]string{"s2": `{"outcome":"replan"}`})}
	f.plan.Stages[1].Routing.LoopTarget, f.plan.Bounds.MaxHops = "s1", 2
	if got := investigated(t, newEnv(t, f)); got.EndReason != agent.EndMaxHops {
		t.Errorf("got %+v", got)
	}
	if last := f.finished[0].Results; len(last) != 2 || last[1].Execution != "s2/A" {
		t.Errorf("results in the end: %+v", last)
	}
}

// TestOutcomeOfAFailure: a stage that reports its own failure is in the errors, with its reason.
func TestOutcomeOfAFailure(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), output: outputs(t, map[string]string{"s1": `{"outcome":"error","message":"no such host"}`})}
	env := newEnv(t, f)
	got, want := investigated(t, env), `its output has the outcome "error": no such host`
	if got.Status != agent.StatusFailed || got.Error != "stage s1: "+want {
		t.Errorf("got %+v", got)
	}
	if s := statusOf(t, env); len(s.Errors) != 1 || s.Errors[0].Error != want {
		t.Errorf("errors %+v", s.Errors)
	}
}

// TestQuestionsEnd: a stage that asks one question after another ends, even if no answer is required.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), output: func(string) activities.SaveStageOut {
		return activities.SaveStageOut{Outcome: agent.OutcomeClarify}
	}}
	f.plan.Interrupts.Clarification.Continue = true
	env := newEnv(t, f)
	if got := investigated(t, env); got.EndReason != agent.EndMaxLoop || len(f.saved) != maxAsked+1 {
		t.Errorf("%d stages, got %+v", len(f.saved), got)
	}
	if answers := statusOf(t, env).Answers; len(answers) != maxAsked || answers[0].Answer != "Nobody answered." {
		t.Errorf("answers %+v", answers)
	}
}

func TestInterrupts(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		name   string
		says   string // what s1 hands on
		rules  plan.Interrupts
		answer *Answer // after 20 minutes
		want   string
		end    agent.EndReason
	}{
		{"clarified", `{"outcome":"clarify","question":"which cluster?"}`, plan.Interrupts{}, &Answer{Text: "eu-1", By: "Ada"},
			"s1 s1#2 s2", agent.EndCompleted},
		{"resumes elsewhere", `{"outcome":"clarify"}`, plan.Interrupts{Clarification: plan.Interrupt{Resume: "s2"}},
			&Answer{ID: "q1", Text: "eu-1"}, "s1 s2", agent.EndCompleted},
		{"confirmed", `{"outcome":"confirm"}`, plan.Interrupts{Confirmation: plan.Interrupt{Resume: "s2"}}, &Answer{Approved: &yes},
			"s1 s2", agent.EndCompleted},
		{"not confirmed", `{"outcome":"confirm"}`, plan.Interrupts{}, &Answer{Approved: &no}, "s1", agent.EndDenied},
		{"reviewed", `{"outcome":"confirm","interrupt":"agent_review"}`, plan.Interrupts{Review: plan.Interrupt{Resume: "s2"}},
			&Answer{Decision: "fine"}, "s1 s2", agent.EndCompleted},
		{"nobody answers", `{"outcome":"clarify"}`, plan.Interrupts{}, nil, "s1", agent.EndInterruptExpired},
		{"nobody has to answer", `{"outcome":"clarify"}`, plan.Interrupts{Clarification: plan.Interrupt{Continue: true}}, nil,
			"s1 s1#2 s2", agent.EndCompleted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"}), output: outputs(t, map[string]string{"s1": tt.says})}
			f.plan.Interrupts, f.plan.Timeout = tt.rules, plan.Duration(time.Minute) // waiting for people does not count
			env := newEnv(t, f)
			env.RegisterDelayedCallback(func() {
				if s := statusOf(t, env); len(s.Questions) != 1 || !strings.Contains(s.WaitingFor, "answer 1 question") {
					t.Errorf("status %+v", s)
				}
				if tt.answer != nil {
					answer(t, env, *tt.answer, "")
				}
			}, 20*time.Minute)
			got := investigated(t, env)
			if diff := cmp.Diff([]string{tt.want, string(tt.end)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if notes := f.generated[len(f.generated)-1].Notes; len(f.generated) > 1 && len(notes) != 1 {
				t.Errorf("the agents were told %+v", notes)
			}
		})
	}
}

// answer sends an answer. refused is part of the expected error.
func answer(t *testing.T, env *testsuite.TestWorkflowEnvironment, a Answer, refused string) {
	t.Helper()
	env.UpdateWorkflow(UpdateAnswer, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {
			if refused != "" {
				t.Errorf("taken: %+v", a)
			}
		},
		OnReject: func(err error) {
			if refused == "" || !strings.Contains(err.Error(), refused) {
				t.Errorf("refused: %v, want %q", err, refused)
			}
		},
		OnComplete: func(any, error) {},
	}, a)
}

func TestAnswersThatAnswerNothing(t *testing.T) {
	t.Parallel()
	yes := true
	f := &fake{
		plan: planOf([]string{"default"}), output: outputs(t, map[string]string{"s1": `{"outcome":"confirm"}`}),
		level: activities.LevelQuestions,
	}
	env := newEnv(t, f)
	env.RegisterDelayedCallback(func() {
		// The suffix comes from the run's ID, so a repeated workflow task asks the question with the same ID.
		answer(t, env, Answer{ID: "q7", Approved: &yes}, `unknown question "q7"; available: q1-n-id (type: NotPending`)
		answer(t, env, Answer{Text: "yes"}, `needs "approved"`)
		answer(t, env, Answer{Approved: &yes, Text: strings.Repeat("x", MaxAnswer+1)}, "longer than")
	}, time.Minute)
	env.RegisterDelayedCallback(func() { answer(t, env, Answer{Approved: &yes}, "") }, 2*time.Minute)
	investigated(t, env)
}

// TestAQuestionIsOvertaken: a question that is no longer needed is not the reason for the end, and
// is not in the status of the ended investigation.
func TestAQuestionIsOvertaken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		second string // what s2 hands on
		after  []string
		signal string // after a minute
		want   string
	}{
		{"somebody concludes", `{}`, []string{"s1"}, SignalConclude, "s1"},
		{"another stage ends the chain", `{"outcome":"terminate"}`, nil, SignalResume, "s1 s2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one := []string{"default"}
			f := &fake{plan: planOf(one, one, one), output: outputs(t, map[string]string{"s1": `{"outcome":"clarify"}`, "s2": tt.second})}
			f.plan.Stages[1].Routing.After, f.plan.Stages[2].Routing.After = tt.after, []string{"s1", "s2"}
			env := newEnv(t, f)
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(tt.signal, nil) }, time.Minute)
			got := investigated(t, env)
			f.inOrder("s1", "s2")
			if diff := cmp.Diff([]string{tt.want, string(agent.EndCompleted)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if open := statusOf(t, env).Questions; len(open) != 0 {
				t.Errorf("it still asks %+v", open)
			}
		})
	}
}

func TestARepair(t *testing.T) {
	t.Parallel()
	broken := say("x")
	broken.Invalid = "agent 'A' output missing required field: F"
	f := &fake{model: script(broken, say("y"))}
	env := newEnv(t, f)
	env.ExecuteWorkflow(SingleShotAgent, agentInput(agent.SingleShot, 1))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || f.inputs() != ",repair" {
		t.Errorf("%+v, inputs %s", got, f.inputs())
	}
	f = &fake{model: script(broken)}
	env = newEnv(t, f)
	env.ExecuteWorkflow(SingleShotAgent, agentInput(agent.SingleShot, 1))
	if got := agentEnd(t, env); got.ErrorType != activities.ErrorInvalidOutput || got.Error != broken.Invalid || len(f.generated) != 2 {
		t.Errorf("%+v after %d calls", got, len(f.generated))
	}
}

// TestTextOutsideItsContractStands: the text of an agent that violates its contract becomes the stage's result. The chain
// continues without routing by it, and the investigation ends as partial. Results judged by an older worker fail as before.
func TestTextOutsideItsContractStands(t *testing.T) {
	t.Parallel()
	broken := say("prose")
	broken.Invalid = "no valid JSON object found in response"
	standing := broken
	standing.Stands = true
	for name, tt := range map[string]struct {
		reply  activities.GenerateOut
		status agent.Status
		end    agent.EndReason
	}{
		"stands": {standing, agent.StatusCompleted, agent.EndPartial},
		"fails":  {broken, agent.StatusFailed, agent.EndToolFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"}), model: script(tt.reply, tt.reply, say("done"))}
			env := newEnv(t, f)
			got := investigate(t, env)
			if got.Status != tt.status || len(f.finished) != 1 || f.finished[0].EndReason != tt.end {
				t.Fatalf("%s, %s: %+v", got.Status, got.EndReason, f.finished)
			}
			if tt.status == agent.StatusFailed {
				return
			}
			in := f.finished[0]
			if in.Outside["s1/A"] != broken.Invalid || len(in.Results) != 2 || len(f.generated) != 3 {
				t.Errorf("finished with %+v after %d model calls", in, len(f.generated))
			}
			if first, second := f.saved[0], f.saved[1]; !first.Outside || second.Outside || first.Stage.Outcome != agent.OutcomePartial ||
				!strings.Contains(first.Stage.Envelope.Partial, "contract") {
				t.Errorf("saved %+v and %+v", first, second)
			}
		})
	}
}

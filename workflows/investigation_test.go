package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func investigate(t *testing.T, env *testsuite.TestWorkflowEnvironment) (result InvestigationResult) {
	t.Helper()
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	endOf(t, env, &result)
	return result
}

func statuses(result InvestigationResult) string {
	var out []string
	for _, s := range result.Stages {
		out = append(out, string(s.Status))
	}
	return strings.Join(out, ",")
}

func TestInvestigation(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default", "default", "synthesis"}, []string{"default"})}
	got := investigate(t, newEnv(t, f))
	if got.Status != agent.StatusCompleted || got.EndReason != agent.EndCompleted || statuses(got) != "completed,completed" {
		t.Errorf("got %+v", got)
	}
	if got.Usage.ModelCalls != 4 {
		t.Errorf("%d model calls, want 4", got.Usage.ModelCalls)
	}
	last := f.generated[len(f.generated)-1]
	if diff := cmp.Diff([]activities.Source{{Stage: "s1", Execution: "s1/Syn"}}, last.Prior); diff != "" {
		t.Errorf("the second stage's context (-want +got):\n%s", diff)
	}
}

func TestBadRequestIsOneClearFailure(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	env.OnActivity(f.Resolve, mock.Anything, mock.Anything).Return(activities.ResolveOut{},
		temporal.NewNonRetryableApplicationError(`unknown chain "x"`, activities.ErrorInvalidRequest, nil))
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"x"}`))
	failed, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if !ok || failed.Type() != activities.ErrorInvalidRequest || failed.Message() != `unknown chain "x"` || !failed.NonRetryable() {
		t.Errorf("ended with %v", env.GetWorkflowError())
	}
}

func TestFailedStageEndsWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}, []string{"default"})}
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s2/A" {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}
	got := investigate(t, newEnv(t, f))
	if got.Status != agent.StatusFailed || got.EndReason != agent.EndLLMFailed || statuses(got) != "completed,failed,skipped" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]activities.Source{{Stage: "s1", Execution: "s1/A"}}, f.finished[0].Results); diff != "" {
		t.Errorf("results that are kept (-want +got):\n%s", diff)
	}
}

func TestEndsThatKeepWhatWasDone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limit  time.Duration
		cancel bool
		status agent.Status
		reason agent.EndReason
	}{
		{"cancelled", 0, true, agent.StatusCancelled, agent.EndCancelled},
		{"timed out", time.Minute, false, agent.StatusTimedOut, agent.EndTimedOut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
			f.plan.Timeout = plan.Duration(tt.limit)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Ref.Execution == "s2/A" {
					return ask("slow"), nil
				}
				return say("x"), nil
			}
			env := newEnv(t, f)
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
			if tt.cancel {
				env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
			}
			got := investigate(t, env)
			if got.Status != tt.status || got.EndReason != tt.reason || len(f.finished[0].Results) != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestConcludeSkipsWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Conclude {
			return say("what I know"), nil
		}
		env.SignalWorkflow(SignalConclude, nil)
		return ask("a"), nil
	}
	got := investigate(t, env)
	if got.Status != agent.StatusCompleted || statuses(got) != "completed,skipped" {
		t.Errorf("got %+v", got)
	}
}

func TestPauseHoldsTheNextStage(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s1/A" {
			env.SignalWorkflow(SignalPause, nil)
		}
		return say("x"), nil
	}
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryStatus)
		var status Status
		if err != nil || value.Get(&status) != nil || status.Status != agent.StatusPaused {
			t.Errorf("status %+v, %v", status, err)
		}
		env.SignalWorkflow(SignalResume, nil)
	}, time.Hour)
	if got := investigate(t, env); statuses(got) != "completed,completed" {
		t.Errorf("got %+v", got)
	}
}

// TestGuidanceGoesIntoTheMail: guidance goes into the mail of its recipients; undeliverable guidance is reported.
func TestGuidanceGoesIntoTheMail(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default", "default"}),
		unread: []string{"guide: no model call followed: \"x\""}}
	f.plan.Stages[0].Agents[0].Name = "First"
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s1/First" {
			env.SignalWorkflow(SignalGuide, Guide{Text: "for all", By: "Ada"})
			env.SignalWorkflow(SignalGuide, Guide{Text: "for B", Agent: "B"})
			env.SignalWorkflow(SignalGuide, Guide{Text: "for nobody", Agent: strings.Repeat("<", 1<<20)})
			env.SignalWorkflow(SignalGuide, Guide{})
		}
		return say("x"), nil
	}
	got := investigate(t, env)
	want := []activities.PostIn{
		{Investigation: got.ID, Plan: "plan", Ordinal: 1, Stages: []string{"s1"}, By: "Ada", Text: []byte("for all")},
		{Investigation: got.ID, Plan: "plan", Ordinal: 2, Agent: "B", Text: []byte("for B")},
	}
	if diff := cmp.Diff(want, f.posted); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	value, err := env.QueryWorkflow(QueryStatus)
	var status Status
	if err != nil || value.Get(&status) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(status.Undelivered, got.Undelivered); diff != "" || len(got.Undelivered) != 3 || jsonSize(got.Undelivered) > 3*maxWhy {
		t.Fatalf("undelivered %.600q (-status +result):\n%s", got.Undelivered, diff)
	}
	for n, want := range []string{`guide: no agent "<<<`, "guide: no text", "no model call followed"} {
		if !strings.Contains(got.Undelivered[n], want) {
			t.Errorf("undelivered %q, want %q in it", got.Undelivered[n], want)
		}
	}
	if diff := cmp.Diff(got.Undelivered[:2], f.finished[0].Envelope.Undelivered); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestSaidTooLate: a signal that arrives while the end is recorded is in the record.
func TestSaidTooLate(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	env := newEnv(t, f)
	env.OnActivity(f.Finish, mock.Anything,
		mock.Anything).Return(func(ctx context.Context, in activities.FinishIn) (activities.FinishOut, error) {
		if len(f.finished) == 0 {
			env.SignalWorkflow(SignalGuide, Guide{Text: "x"})
			taken := make(chan struct{}) // an update that nobody handles is refused after the signal was taken in
			env.UpdateWorkflow("none", "after the signal", &testsuite.TestUpdateCallback{
				OnReject: func(error) { close(taken) }, OnAccept: func() {}, OnComplete: func(any, error) {}})
			<-taken
		}
		return f.Finish(ctx, in)
	})
	got := investigate(t, env)
	want := []string{"guide: the investigation has ended"}
	if diff := cmp.Diff(want, got.Undelivered); diff != "" || len(f.posted) != 0 {
		t.Errorf("posted %v, undelivered (-want +got):\n%s", f.posted, diff)
	}
	if diff := cmp.Diff(want, f.finished[len(f.finished)-1].Envelope.Undelivered); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

func TestInvestigationContinuesAsNew(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		env.SetContinueAsNewSuggested(true)
		return say("x"), nil
	}
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", env.GetWorkflowError())
	}
	var raw json.RawMessage = next.Input.GetPayloads()[0].GetData()
	second := &fake{}
	env = newEnv(t, second)
	env.SetContinuedExecutionRunID("run-before")
	env.ExecuteWorkflow(TypeInvestigation, raw)
	var got InvestigationResult
	endOf(t, env, &got)
	if statuses(got) != "completed,completed" || got.Usage.ModelCalls != 2 || len(second.generated) != 1 {
		t.Errorf("second run: %+v", got)
	}
}

// TestWordsBeforeItContinues: an investigation continues as new once all guidance is in the mail, and numbers on from there.
func TestWordsBeforeItContinues(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.output = func(string) activities.SaveStageOut {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow(SignalGuide, Guide{Text: "x"})
		return activities.SaveStageOut{}
	}
	env.OnActivity(f.Post, mock.Anything, mock.Anything).After(time.Hour).Return(f.Post) // the store is away
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok || len(f.posted) != 1 || len(f.generated) != 1 {
		t.Fatalf("ended with %v after %d calls, posted %+v", env.GetWorkflowError(), len(f.generated), f.posted)
	}
	var carried struct {
		State struct{ Letters int } `json:"continued_state"`
	}
	if err := json.Unmarshal(next.Input.GetPayloads()[0].GetData(), &carried); err != nil || carried.State.Letters != 1 {
		t.Errorf("carried %+v, %v", carried, err)
	}
}

// TestSignalsDoNotOvertake: signals are handled one at a time, in the order of their arrival, however long
// each one waits.
func TestSignalsDoNotOvertake(t *testing.T) {
	t.Parallel()
	env := newEnv(t, &fake{})
	var handled []string
	for n, name := range []string{SignalConclude, SignalPause, SignalResume, SignalGuide, SignalPause} {
		var input any
		if name == SignalGuide {
			input = "x"
		}
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(name, input) }, time.Duration(n+1)*time.Second)
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, 3*time.Second) // which ends nothing here
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		s := listen(ctx)
		if err := s.serve(ctx, newWatch(ctx), slow{&handled}); err != nil {
			return err
		}
		rest, _ := workflow.NewDisconnectedContext(ctx)
		if err := workflow.Sleep(rest, 10*time.Second); err != nil {
			return err
		}
		s.awaitHandled(ctx)
		return nil
	})
	want := "conclude done pause done resume done guide done pause done"
	if got := strings.Join(handled, " "); got != want || env.GetWorkflowError() != nil {
		t.Errorf("handled %q, want %q: %v", got, want, env.GetWorkflowError())
	}
}

// slow takes a minute for each signal.
type slow struct{ handled *[]string }

func (s slow) refuse(signal) string { return "" }

func (s slow) handle(ctx workflow.Context, sig signal) (Taken, string) {
	*s.handled = append(*s.handled, sig.Name)
	_ = workflow.Sleep(ctx, time.Minute)
	*s.handled = append(*s.handled, "done")
	return Taken{}, ""
}

func (s slow) undelivered(_ workflow.Context, why string) { *s.handled = append(*s.handled, why) }

func TestReadSignal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, signal, raw string
		want              signal
		wrong             string
	}{
		{"guide", SignalGuide, `{"text":"t","stage":"s","agent":"A","by":"b"}`, signal{Text: "t", Stage: "s", Agent: "A", By: "b"}, ""},
		{"guide as text", SignalGuide, `"t"`, signal{Text: "t"}, ""},
		{"guide as a list", SignalGuide, `[1]`, signal{}, `guide: the input has the wrong type: array; expected input: {"text": "…"`},
		{"guide with a wrong field", SignalGuide, `{"txt":"t"}`, signal{}, `guide: unknown field "txt"; expected input:`},
		{"guide with a wrong type", SignalGuide, `{"text":1234}`, signal{}, `guide: "text" has the wrong type: number;`},
		{"guide that is no JSON", SignalGuide, `{"text"`, signal{}, `guide: the input is not JSON;`},
		{"conclude without payload", SignalConclude, ``, signal{}, ""},
		{"conclude from the UI without a payload", SignalConclude, `""`, signal{}, ""},
		{"conclude one", SignalConclude, `{"agent":"A"}`, signal{Agent: "A"}, ""},
		{"conclude one, misspelt", SignalConclude, `{"agnt":"A"}`, signal{}, `conclude: unknown field "agnt"; expected input: {"stage"`},
		{"pause", SignalPause, `{"by":"b"}`, signal{By: "b"}, ""},
		{"pause one", SignalPause, `{"agent":"A"}`, signal{}, `pause: unknown field "agent"; expected input: {"by": "…"}, or nothing`},
		{"minutes that are no number", SignalPauseHeartbeats, `{"minutes":"x"}`, signal{Minutes: 2},
			`pause-heartbeats: "minutes" has the wrong type: string;`},
		{"too many minutes", SignalPauseHeartbeats, `{"minutes":6000}`, signal{Minutes: 60}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var value converter.RawValue
			if tt.raw != "" {
				payload := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(tt.raw)}
				value = converter.NewRawValue(payload)
			}
			got, err := readSignal(tt.signal, value)
			if tt.wrong == "" {
				tt.want.Name = tt.signal
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			} else if err = wrongInput(tt.signal, steers[tt.signal].input, err); !strings.HasPrefix(err.Error(), tt.wrong) {
				t.Errorf("got %v, want %s", err, tt.wrong)
			}
		})
	}
}

// TestCutReplyIsPartial: the result and the stage's record say that the text is
// incomplete.
func TestCutReplyIsPartial(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), model: script(activities.GenerateOut{Preview: "x", Partial: "it was cut"})}
	got := investigate(t, newEnv(t, f))
	if got.Status != agent.StatusCompleted || got.Stages[0].Partial != "it was cut" {
		t.Errorf("got %+v", got)
	}
	if saved := f.saved[0].Stage; saved.Outcome != agent.OutcomePartial || saved.Envelope.Partial != "it was cut" {
		t.Errorf("saved %+v", saved)
	}
	if table := statusTable(Status{Stages: got.Stages}); !strings.Contains(table, "completed · partial: it was cut") {
		t.Errorf("status: %s", table)
	}
}

package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// updated receives the result of an update.
type updated struct{ said *string }

func (u updated) Accept()          {}
func (u updated) Reject(err error) { *u.said = "refused: " + err.Error() }
func (u updated) Complete(out any, err error) {
	body, _ := json.Marshal(out)
	if *u.said = string(body); err != nil {
		*u.said = "failed: " + err.Error()
	}
}

// TestUpdatesAnswer: updates act like signals, and return their recipients or the reason of a refusal.
func TestUpdatesAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ update, input, want string }{
		"guide all":            {SignalGuide, `{"text":"x"}`, `{"for":["s1/A","s1/B"]}`},
		"guide with a text":    {SignalGuide, `"x"`, `{"for":["s1/A","s1/B"]}`},
		"guide one":            {SignalGuide, `{"text":"x","agent":"B"}`, `{"for":["s1/B"]}`},
		"guide a stage":        {SignalGuide, `{"text":"x","stage":"s1"}`, `{"for":["s1/A","s1/B"]}`},
		"guide a later stage":  {SignalGuide, `{"text":"x","stage":"s2"}`, `{}`},
		"guide a later agent":  {SignalGuide, `{"text":"x","agent":"Late"}`, `{}`},
		"guide a later joiner": {SignalGuide, `{"text":"x","agent":"Syn"}`, `{}`},
		"guide one that ended": {SignalGuide, `{"text":"x","agent":"C"}`, `refused: guide: agent C has ended`},
		"guide nobody":         {SignalGuide, `{"text":"x","agent":"Z"}`, `refused: guide: no agent "Z" is running or still to run`},
		"guide no stage":       {SignalGuide, `{"text":"x","stage":"s9"}`, `refused: guide: no stage "s9" is running or still to run`},
		"guide without a word": {SignalGuide, `{"text":" \n"}`, `refused: guide: no text; expected input: {"text": "…"`},
		"guide too much": {SignalGuide, `{"text":"` + strings.Repeat("x", MaxGuide+1) + `"}`,
			`refused: guide: 16385 bytes exceed the limit of 16384`},
		"guide, misspelt":       {SignalGuide, `{"txt":"x"}`, `refused: guide: unknown field "txt"; expected input:`},
		"conclude all":          {SignalConclude, `{"by":"Ada"}`, `{"for":["s1/A","s1/B"]}`},
		"conclude one":          {SignalConclude, `{"agent":"A"}`, `{"for":["s1/A"]}`},
		"conclude later":        {SignalConclude, `{"agent":"Late"}`, `refused: conclude: agent Late is not running`},
		"conclude a joiner":     {SignalConclude, `{"agent":"Syn"}`, `refused: conclude: agent Syn has not begun`},
		"conclude one of both":  {SignalConclude, `{"stage":"s2","agent":"A"}`, `refused: conclude: no agent "A" is running or still to run`},
		"pause":                 {SignalPause, ``, `{"for":["s1/A","s1/B"]}`},
		"pause one":             {SignalPause, `{"agent":"A"}`, `refused: pause: unknown field "agent"`},
		"pause heartbeats":      {SignalPauseHeartbeats, `{"minutes":3}`, `refused: pause-heartbeats: no running agent has heartbeats`},
		"decide in one word":    {UpdateAnswer, `"yes"`, `refused: answer: the input has the wrong type: string; expected input: {"id"`},
		"raise what is unknown": {UpdateExtendBudget, `{"tokns":1}`, `refused: extend_budget: unknown field "tokns"; expected input:`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default", "default", "default", "synthesis"}, []string{"default"})}
			f.plan.Stages[1].Agents[0].Name = "Late"
			env := newEnv(t, f)
			said := "nothing"
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Iteration > 1 || in.Ref.Execution != "s1/A" && in.Ref.Execution != "s1/B" {
					return say("x"), nil
				}
				return ask("a"), nil
			}
			f.tool = func(activities.CallToolIn) (activities.CallToolOut, error) {
				return activities.CallToolOut{}, nil
			}
			env.OnActivity("CallTool", mock.Anything, mock.Anything).After(time.Hour).Return(f.tool)
			env.RegisterDelayedCallback(func() {
				var args []any
				if tt.input != "" {
					args = append(args, json.RawMessage(tt.input))
				}
				env.UpdateWorkflow(tt.update, "", updated{&said}, args...)
			}, time.Minute)
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalResume, nil) }, 2*time.Hour)
			got := investigate(t, env)
			if !strings.HasPrefix(said, tt.want) || strings.HasPrefix(tt.want, "{") && said != tt.want {
				t.Errorf("said %s, want %s", said, tt.want)
			}
			if len(got.Undelivered)+len(f.noticed) != 0 || got.Status != agent.StatusCompleted {
				t.Errorf("%s, undelivered %q", got.Status, got.Undelivered)
			}
		})
	}
}

// TestSignalsBeforeTheAgents: signals to agents that arrive during their stage's hook reach exactly these agents.
func TestSignalsBeforeTheAgents(t *testing.T) {
	t.Parallel()
	const hook = 10 * time.Minute
	tests := map[string]struct {
		update, input, want string
		concludes           string // whose first call is told to
		woken               time.Duration
	}{
		"conclude one":        {SignalConclude, `{"agent":"A"}`, `{"for":["s1/A"]}`, "s1/A", hook},
		"sleep, one":          {SignalPauseHeartbeats, `{"agent":"A","minutes":30}`, `{"for":["s1/A"]}`, "", hook + 30*time.Minute},
		"sleep, all":          {SignalPauseHeartbeats, `{"minutes":30}`, `{"for":["s1/A"]}`, "", hook + 30*time.Minute},
		"sleep, who does not": {SignalPauseHeartbeats, `{"agent":"B","minutes":30}`, "refused: pause-heartbeats: ", "", hook},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"memgpt_agent", "default"})}
			f.plan.Stages[0].PreProcess = "h"
			env := newEnv(t, f)
			start, said, concludes, began := env.Now(), "nothing", "", map[string]time.Duration{}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if began[in.Ref.Execution] = env.Now().Sub(start).Round(time.Minute); in.Conclude {
					concludes += in.Ref.Execution
				}
				return say("x"), nil
			}
			env.OnActivity("RunHook", mock.Anything, mock.Anything).After(hook).Return(activities.RunHookOut{}, nil)
			env.RegisterDelayedCallback(func() {
				env.UpdateWorkflow(tt.update, "", updated{&said}, json.RawMessage(tt.input))
			}, time.Minute)
			got := investigate(t, env)
			if !strings.HasPrefix(said, tt.want) || got.Status != agent.StatusCompleted || len(got.Undelivered) > 0 {
				t.Errorf("said %s; %s, undelivered %q", said, got.Status, got.Undelivered)
			}
			if concludes != tt.concludes || began["s1/A"] != tt.woken || began["s1/B"] != hook {
				t.Errorf("%q concludes; began %v", concludes, began)
			}
		})
	}
}

// TestWrongSignalsAreSaid: unusable signals appear in the status, the record and the transcript, and
// nowhere else. A flood of them is truncated.
func TestWrongSignalsAreSaid(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	env := newEnv(t, f)
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		env.SignalWorkflow("gide", map[string]string{"text": "x"})
		env.SignalWorkflow(SignalGuide, []byte{0xff, 0})
		env.SignalWorkflow(SignalConclude, map[string]string{"agnt": "A"})
		for range 60 {
			env.SignalWorkflow(SignalPause, 1)
		}
		return say("x"), nil
	}
	got := investigate(t, env)
	if got.Status != agent.StatusCompleted || len(got.Undelivered) != maxErrors || len(f.noticed) != maxNotices {
		t.Fatalf("%s, %d undelivered, %d noticed", got.Status, len(got.Undelivered), len(f.noticed))
	}
	all := fmt.Sprint(f.noticed)
	for _, want := range []string{
		`not delivered: unknown signal "gide"; available: `, `not delivered: guide: the input is not JSON; expected input: {"text"`,
		`not delivered: conclude: unknown field "agnt"; expected input:`,
		`not delivered: pause: the input has the wrong type: number; expected input:`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("noticed %s\nwant %s", all, want)
		}
	}
	if diff := cmp.Diff(activities.NoticeIn{Investigation: got.ID, Plan: "plan", Ordinal: 1, Text: f.noticed[0].Text},
		f.noticed[0]); diff != "" {
		t.Errorf("notice (-want +got):\n%s", diff)
	}
}

// TestSignalsOfAChildThatWaits: a child that waits for its ID does not delay its siblings' signals, and gets its own in order.
func TestSignalsOfAChildThatWaits(t *testing.T) {
	t.Parallel()
	env := newEnvFor(t, &fake{})
	const free = 20 * time.Minute
	var early, late []string
	var earlyAt time.Time
	onSignal := func(received *[]string, at *time.Time) func(workflow.Context, any) error {
		return func(ctx workflow.Context, _ any) error {
			for range 2 {
				var said Conclude
				workflow.GetSignalChannel(ctx, SignalConclude).Receive(ctx, &said)
				*received = append(*received, said.By)
			}
			*at = workflow.Now(ctx)
			return nil
		}
	}
	var lateAt time.Time
	env.RegisterWorkflow(straggler)
	env.RegisterWorkflowWithOptions(onSignal(&early, &earlyAt), workflow.RegisterOptions{Name: "early"})
	env.RegisterWorkflowWithOptions(onSignal(&late, &lateAt), workflow.RegisterOptions{Name: "late"})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		old := workflow.ExecuteChildWorkflow(childOptions(ctx, childID("inv", "taken"), ""), straggler, free)
		if err := old.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
			return err
		}
		f := newFamily(ctx, newWatch(ctx), "inv")
		waits, beside := f.start(ctx, "taken", "", "late", nil), f.start(ctx, "beside", "", "early", nil)
		for _, by := range []string{"first", "second"} {
			for _, c := range []*child{waits, beside} {
				if !c.signal(ctx, signal{Name: SignalConclude, By: by}) {
					t.Errorf("%s: %s did not take it", c.id, by)
				}
			}
		}
		_ = beside.Get(ctx, nil)
		return waits.Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"first", "second"}, {"first", "second"}}, [][]string{early, late}); diff != "" ||
		lateAt.Sub(earlyAt) < free/2 {
		t.Errorf("at %s and %s (-want +got):\n%s", earlyAt, lateAt, diff)
	}
}

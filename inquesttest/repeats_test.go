package inquesttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/value"
	"github.com/inquest-dev/inquest/workflows"
)

// same is the call that the models of these tests repeat, in different spellings.
var same = []string{`{"text":"down","channel":"ops"}`, "{ \"channel\": \"ops\",\n \"text\": \"down\" }"}

// repeating is a world whose agent makes the same call in each of its first nine iterations.
type repeating struct {
	options []inquest.ToolOption
	config  inquest.ToolConfig
	arg     func(n int) string // of the n-th call; nil means same
	decide  *bool              // what a person decides; nil means nothing

	made  atomic.Int32
	asked []string // the notes of each question
	seen  []string // the results that the model has read
}

func (r *repeating) model(_ context.Context, req inquest.ModelRequest, _ func(inquest.ModelDelta)) (inquest.ModelReply, error) {
	n := 0
	for _, m := range req.Messages {
		if m.Role == "tool" {
			n++
			r.seen = append(r.seen[:n-1], m.Content)
		}
	}
	if n == 9 {
		return inquest.ModelReply{Content: "Told them."}, nil
	}
	arguments := same[n%len(same)]
	if r.arg != nil {
		arguments = r.arg(n)
	}
	return inquest.ModelReply{ToolCalls: []inquest.ModelToolCall{{Name: "post", Arguments: arguments}}}, nil
}

type message struct {
	Text    string `json:"text"`
	Channel string `json:"channel"`
}

// run runs the agent. A person looks every ten minutes whether a call waits.
func (r *repeating) run(t *testing.T) {
	t.Helper()
	post := func(context.Context, message) (any, error) {
		r.made.Add(1)
		return map[string]any{"posted": true}, nil
	}
	w := World{Options: inquest.Options{
		Tools: []inquest.Tool{inquest.NewTool("post", "Posts a message", post, r.options...)},
		Agents: map[string]*inquest.Agent{"A": {
			ToolIDs: []string{"post"}, DefaultModel: "openai:gpt-4o", ToolConfig: r.config, MaxIterations: new(20),
		}},
		Chains: map[string]*inquest.Chain{"c": {Stages: []*inquest.Stage{{Name: "s", Agents: []*inquest.StageAgent{{Name: "A"}}}}}},
		Models: map[string]inquest.Model{"*": r.model},
	}}
	prepare := func(env *testsuite.TestWorkflowEnvironment) {
		var agent string
		env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
			if info.WorkflowType.Name == "IteratingAgent" {
				agent = info.WorkflowExecution.ID
			}
		})
		known := map[string]bool{}
		var look func()
		look = func() {
			env.RegisterDelayedCallback(look, 10*time.Minute)
			var status workflows.AgentStatus
			answer, err := env.QueryWorkflowByID(agent, workflows.QueryStatus)
			if err != nil || answer.Get(&status) != nil {
				return
			}
			for _, waiting := range status.Waiting {
				if !known[waiting.CallID] {
					known[waiting.CallID] = true
					r.asked = append(r.asked, strings.Join(waiting.Notes, "\n"))
				}
				if r.decide == nil {
					continue
				}
				err := env.UpdateWorkflowByID(agent, workflows.UpdateDecide, waiting.CallID, &testsuite.TestUpdateCallback{
					OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
				}, workflows.Decide{CallID: waiting.CallID, Approved: r.decide, By: "Ada", Reason: "said so"})
				if err != nil {
					t.Error(err)
				}
			}
		}
		env.RegisterDelayedCallback(look, time.Minute)
	}
	result, err := w.run(t.Context(), inquest.Request{Chain: "c", Data: "db-1 is down."}, prepare)
	if err != nil || result.Report != "Told them." || len(r.seen) != 9 {
		t.Fatalf("%+v, %v", result, err)
	}
}

// TestSameWriteNineTimes: an agent makes the same write in each of nine iterations. A person is asked about the second, once.
func TestSameWriteNineTimes(t *testing.T) {
	t.Parallel()
	const stands = "made the same call once before (at "
	numbered := func(n int) string { return fmt.Sprintf(`{"text":"%d","channel":"ops"}`, n) }
	allowed := inquest.ToolConfig{ToolPermissions: map[string]inquest.ToolPermission{"post": {Repeats: value.RepeatsAllow}}}
	for name, tt := range map[string]struct {
		repeating          *repeating
		effects, questions int
		second, later      []string // parts of the results that the model reads
	}{
		"approved": {repeating: &repeating{decide: new(true)}, effects: 9, questions: 1},
		"denied": {repeating: &repeating{decide: new(false)}, effects: 1, questions: 1, second: []string{"denied by Ada (said so)", stands},
			later: []string{stands, "denied by Ada", "Do not request"}},
		"nobody decides": {repeating: &repeating{}, effects: 1, questions: 1, second: []string{"timed out", stands},
			later: []string{stands, "Nobody approved repeating it"}},
		"reads":           {repeating: &repeating{options: []inquest.ToolOption{inquest.WithRisk(inquest.RiskReadOnly)}}, effects: 9},
		"idempotent":      {repeating: &repeating{options: []inquest.ToolOption{inquest.Idempotent()}}, effects: 9},
		"other arguments": {repeating: &repeating{arg: numbered}, effects: 9},
		"allowed":         {repeating: &repeating{config: inquest.ToolConfig{Repeats: value.RepeatsAllow}}, effects: 9},
		"allowed tool":    {repeating: &repeating{config: allowed}, effects: 9},
		"refused": {repeating: &repeating{config: inquest.ToolConfig{Repeats: value.RepeatsDeny}}, effects: 1,
			second: []string{stands, "not allowed for this agent"}, later: []string{stands, "not allowed for this agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tt.repeating
			r.run(t)
			if got := int(r.made.Load()); got != tt.effects || len(r.asked) != tt.questions {
				t.Errorf("%d effects, asked %q", got, r.asked)
			}
			for _, note := range r.asked {
				if !strings.Contains(note, "The agent "+stands) || !strings.Contains(note, "result: success).") {
					t.Errorf("asked: %q", note)
				}
			}
			for n, result := range r.seen[1:] {
				parts := tt.later
				if n == 0 {
					parts = tt.second
				}
				if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(result, part) }) {
					t.Errorf("result %d is %q, want %q", n+2, result, parts)
				}
			}
		})
	}
}

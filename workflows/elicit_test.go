package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// TestElicitation: the question of a tool's server is listed as one of the investigation's questions until people answer it,
// its time is up, or its stage ends.
func TestElicitation(t *testing.T) {
	t.Parallel()
	answer := func(text string) *Answer { return &Answer{Text: text, By: "Ada"} }
	for name, tc := range map[string]struct {
		stage  string
		answer *Answer // nil: nobody answers
		want   string  // what the call is told
	}{
		"answered":        {"s1", answer("prod"), `{"answered":true,"text":"prod","by":"Ada"}`},
		"nobody answers":  {"s1", nil, `{}`},
		"no such stage":   {"s9", nil, `refused: stage s9 is not running`},
		"the stage ended": {"s1", nil, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}), model: script(ask("s.deploy"), say("done"))}
			env := newEnv(t, f)
			took, within := 90*time.Minute, `"30m"`
			if name == "the stage ended" {
				took, within = 10*time.Minute, `"10h"`
			}
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(took).Return(activities.CallToolOut{Status: "success"}, nil)
			var said string
			env.RegisterDelayedCallback(func() {
				in := json.RawMessage(`{"stage":"` + tc.stage + `","question":"Where to?","data":{"type":"object"},"within":` + within + `}`)
				env.UpdateWorkflow(UpdateElicit, "key/1", updated{&said}, in)
			}, time.Minute)
			env.RegisterDelayedCallback(func() {
				now := statusOf(t, env)
				if tc.stage == "s9" {
					return
				}
				if len(now.Questions) != 1 || now.Questions[0].Question != "Where to?" || now.Status != agent.StatusWaitingAnswer {
					t.Errorf("status %+v", now)
				}
				if tc.answer != nil {
					var answered string
					env.UpdateWorkflow(UpdateAnswer, "answer", updated{&answered}, tc.answer)
				}
			}, 2*time.Minute)
			got := investigated(t, env)
			if got.Status != agent.StatusCompleted || !strings.HasPrefix(said, tc.want) {
				t.Errorf("said %s, want %s; %+v", said, tc.want, got)
			}
		})
	}
}

// TestManyElicitations: questions of tool servers leave room for the updates of people.
func TestManyElicitations(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), model: script(ask("s.deploy"), say("done"))}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{Status: "success"}, nil)
	said := make([]string, maxElicited+3)
	env.RegisterDelayedCallback(func() {
		for n := range said {
			in := json.RawMessage(`{"stage":"s1","question":"Where to?","data":{"type":"object"},"within":"30m"}`)
			env.UpdateWorkflow(UpdateElicit, fmt.Sprint("key/", n), updated{&said[n]}, in)
		}
	}, time.Minute)
	env.RegisterDelayedCallback(func() {
		if now := statusOf(t, env); len(now.Questions) != maxElicited {
			t.Errorf("%d questions are open", len(now.Questions))
		}
	}, 2*time.Minute)
	investigated(t, env)
	for n, got := range said {
		if refused := strings.Contains(got, "5 questions from tool servers are already open"); refused != (n >= maxElicited) {
			t.Errorf("question %d: %s", n, got)
		}
	}
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/workflows"
)

// asked is a request for the chain "c".
type asked struct{ activities.Requests }

func (asked) Inputs(context.Context, string, string) ([][]byte, string, error) {
	return [][]byte{[]byte(`{"chain":"c","data":"the shop is down","by":"Ada"}`)}, "host", nil
}

// words are the replies of models in order, the last one repeatedly; an empty one fails.
type words struct {
	all  []string
	said int
}

func (w *words) Client(plan.Provider, plan.Timeouts) (llm.Client, error) { return w, nil }

func (w *words) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	text := w.all[min(w.said, len(w.all)-1)]
	w.said++
	if text == "" {
		return llm.Response{}, &llm.Error{Kind: llm.ErrAuth, Message: "no such key"}
	}
	return llm.Response{Content: text, Model: "m", Finish: llm.FinishStop, Usage: agent.Usage{InputTokens: 7, OutputTokens: 3}}, nil
}

// The stored record of an ended investigation equals the investigation's own status.
func TestRecordSaysWhatTheQueryDid(t *testing.T) {
	t.Parallel()
	stages := func(list ...*config.Stage) []*config.Stage { return list }
	stage := func(name string, flow config.Flow, agents ...string) *config.Stage {
		s := &config.Stage{Name: name, Flow: flow}
		for _, a := range agents {
			s.Agents = append(s.Agents, &config.StageAgent{Name: a})
		}
		return s
	}
	tests := map[string]struct {
		stages []*config.Stage
		change func(*config.Chain)
		says   []string
		slow   bool // models take an hour
		do     func(*testsuite.TestWorkflowEnvironment)
		want   string // status, end reason, runs of stages
	}{
		"several agents": {stages: stages(stage("dig", config.Flow{}, "W", "W"), stage("tell", config.Flow{}, "W")), says: []string{"a"},
			want: "completed completed dig tell"},
		"loops": {
			stages: stages(stage("plan", config.Flow{}, "J"), stage("judge", config.Flow{LoopTarget: "plan", OutputKey: "verdict"}, "J"),
				stage("tell", config.Flow{}, "J")),
			says: []string{`{"a":1}`, `{"outcome":"replan"}`, `{"a":"<2>"}`, `{"good":true}`, `{"b":3}`},
			want: "completed completed plan judge plan#2 judge#2 tell",
		},
		"loops for ever": {
			stages: stages(stage("plan", config.Flow{}, "J"), stage("judge", config.Flow{LoopTarget: "plan"}, "J"),
				stage("tell", config.Flow{}, "J")),
			says: []string{`{"outcome":"success"}`, `{"outcome":"replan"}`, `{"outcome":"success"}`, `{"outcome":"replan"}`, `{"a":1}`,
				`{"outcome":"replan"}`},
			want: "completed max_passes_exceeded plan judge plan#2 judge#2 plan#3 judge#3 tell",
		},
		"fails": {stages: stages(stage("dig", config.Flow{}, "W"), stage("tell", config.Flow{}, "W")), says: []string{""},
			want: "failed llm_failed dig tell"},
		"fails, goes on": {stages: stages(stage("dig", config.Flow{ErrorNext: "tell"}, "W"), stage("tell", config.Flow{}, "W")),
			says: []string{"", "b"}, want: "completed completed dig tell"},
		"says it has not": {stages: stages(stage("dig", config.Flow{}, "J")), says: []string{`{"outcome":"error","message":"nothing found"}`},
			want: "failed tool_failed dig"},
		"times out": {
			stages: stages(stage("dig", config.Flow{}, "W"), stage("tell", config.Flow{}, "W")), slow: true,
			change: func(c *config.Chain) { c.Timeout = plan.Duration(time.Minute) }, want: "timed_out timed_out dig tell",
		},
		"is cancelled": {
			stages: stages(stage("dig", config.Flow{}, "W", "W"), stage("tell", config.Flow{}, "W")), slow: true,
			do: (*testsuite.TestWorkflowEnvironment).CancelWorkflow, want: "cancelled cancelled dig tell",
		},
		"asks and is answered": {
			stages: stages(stage("dig", config.Flow{}, "J"), stage("tell", config.Flow{}, "J")),
			says:   []string{`{"outcome":"clarify","question":"Which shop?"}`, `{"a":1}`},
			do: func(env *testsuite.TestWorkflowEnvironment) {
				answer := workflows.Answer{Text: "the one in password=hunter2", By: "Bob"}
				env.UpdateWorkflow(workflows.UpdateAnswer, "u", callbacks{}, answer)
				env.SignalWorkflow(workflows.SignalGuide, workflows.Guide{Text: "hurry", Agent: "Nobody"})
			},
			want: "completed completed dig dig#2 tell",
		},
		"asks in vain": {
			stages: stages(stage("dig", config.Flow{}, "J"), stage("tell", config.Flow{}, "J")),
			says:   []string{`{"outcome":"clarify","question":"Which shop?"}`},
			want:   "completed interrupt_expired dig tell",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain := &config.Chain{LLMProvider: "scripted", Stages: tt.stages}
			if tt.change != nil {
				tt.change(chain)
			}
			content, queried := investigate(t, chain, &words{all: tt.says}, tt.slow, tt.do)
			r, err := content.FindInvestigation(t.Context(), queried.ID)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := content.Stages(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			stored := workflows.StatusOf(r, runs)
			if diff := cmp.Diff(plain(t, queried), plain(t, stored)); diff != "" {
				t.Errorf("(-query +store):\n%s", diff)
			}
			got := fmt.Sprint(stored.Status, " ", stored.EndReason)
			for _, s := range stored.Stages {
				got += " " + s.Name
			}
			if got != tt.want || stored.By != "Ada" {
				t.Errorf("got %q, asked for by %q; want %q", got, stored.By, tt.want)
			}
		})
	}
}

// plain returns a status as JSON, with the values masked that the store masks.
func plain(t *testing.T, status workflows.Status) (out any) {
	t.Helper()
	body, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal([]byte(strings.ReplaceAll(string(body), "hunter2", "[MASKED_PASSWORD]")), &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// investigate runs a chain to its end, and then queries its status.
func investigate(t *testing.T, chain *config.Chain, model *words, slow bool,
	do func(*testsuite.TestWorkflowEnvironment)) (*store.Store, workflows.Status) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	content := storetest.Open(t)
	conf, err := configuration.Load((&HostOptions{Data: t.TempDir(), Settings: Settings{Embedding: &Embedding{Entries: config.Entries{
		Agents: map[string]*config.Agent{"W": {}, "J": {Type: "llm"}}, AgentChains: map[string]*config.Chain{"c": chain},
	}}}}).source())
	if err != nil {
		t.Fatal(err)
	}
	act := newActivities(t.Context(), WorkerOptions{ToolsOnly: true, Config: conf, Store: content, Settings: Settings{Logger: logger}}, nil)
	act.Requests, act.Models = asked{}, model
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(logger))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(time.Minute)
	workflows.Register(env)
	env.RegisterActivity(act)
	if slow {
		env.OnActivity(act.Generate, mock.Anything, mock.Anything).After(time.Hour).Return(activities.GenerateOut{}, nil)
	}
	if do != nil {
		env.RegisterDelayedCallback(func() { do(env) }, 10*time.Second)
	}
	env.ExecuteWorkflow(workflows.Investigation, converter.RawValue{}) // Resolve reads it from another place
	value, err := env.QueryWorkflow(workflows.QueryStatus)
	var status workflows.Status
	if err == nil {
		err = value.Get(&status)
	}
	if err != nil {
		t.Fatal(err)
	}
	return content, status
}

type callbacks struct{}

func (callbacks) Accept()             {}
func (callbacks) Reject(error)        {}
func (callbacks) Complete(any, error) {}

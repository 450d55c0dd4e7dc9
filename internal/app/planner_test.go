package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// stored are run-time agents.
type stored []virtual.Agent

func (s stored) VirtualAgents(_ context.Context, project string, names ...string) (out []virtual.Agent, _ error) {
	for _, a := range s {
		for _, name := range names {
			if a.Name == name && a.Project == project {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// defined is a configuration with two run-time agents whose models a function chooses.
func defined(t *testing.T, choose hook.Selector) planner {
	t.Helper()
	agents := map[string]*config.Agent{"Clerk": {AgentSource: virtual.Source}, "Judge": {AgentSource: virtual.Source, Type: "scoring"}}
	chain := &config.Chain{
		Stages: []*config.Stage{{Name: "s", Agents: []*config.StageAgent{{Name: "Clerk"}}, Replicas: new(2)},
			{Name: "t", Agents: []*config.StageAgent{{Name: "Own"}}}},
		Scoring: config.Closing{Agent: "Judge"}, AlertTypes: []string{"usual"},
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte("defaults: {alert_type: usual}\nagents: {Own: {default_model: 'selector:s'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configuration.Load(configuration.Source{
		Entries: config.Entries{Agents: agents, AgentChains: map[string]*config.Chain{"c": chain}},
		Dir:     file, Selectors: []string{"s"}, Env: func(string) (string, bool) { return "x", true },
	})
	if err != nil {
		t.Fatal(err)
	}
	var made stored
	for name, kind := range map[string]string{"Clerk": "", "Judge": "scoring"} {
		d := virtual.Definition{Name: name, Type: kind, Config: virtual.Config{AgentSource: virtual.Source, DefaultModel: "selector:s"}}
		made = append(made, virtual.Agent{Project: "payments", Name: name, Version: 1, Definition: d})
	}
	return planner{cfg, made, map[string]hook.Selector{"s": choose}, slog.New(slog.DiscardHandler)}
}

// A selector gets only the storable part of a request, wherever a plan is made: for an investigation, a conversation, or a score
// that is requested later, for a run-time agent.
func TestSelectorsAreTold(t *testing.T) {
	t.Parallel()
	const secret = "password=q8Zr2LxW0pT7vN4k"
	var received hook.SelectorInput
	var asked []string
	p := defined(t, func(_ context.Context, in hook.SelectorInput) (string, error) {
		asked = append(asked, in.Agent)
		received = in
		received.Metadata = maps.Clone(in.Metadata)
		clear(in.Metadata) // a function may change its input
		return "scripted:" + in.Tenant + "x", nil
	})
	labels := agent.Labels{Project: "payments", Tenant: "acme", Metadata: map[string]string{"note": secret}}
	req := agent.Request{Chain: "c", AlertType: "a", By: "ann", Labels: labels}
	made, err := p.Plan(t.Context(), req, "the data: "+secret)
	if err != nil {
		t.Fatal(err)
	}
	note := received.Metadata["note"]
	if strings.Contains(received.Request+note, "q8Zr") ||
		!strings.HasPrefix(received.Request, "the data: ") || !strings.HasPrefix(note, "password=") {
		t.Errorf("it is told %q, %q", received.Request, received.Metadata)
	}
	if diff := cmp.Diff([]string{"Clerk", "Own"}, asked); diff != "" {
		t.Error(diff)
	}
	received.Request, received.Metadata = "", nil
	want := hook.SelectorInput{Agent: "Own", Chain: "c", AlertType: "a", Project: "payments", RequestedBy: "ann", Tenant: "acme"}
	if diff := cmp.Diff(want, received); diff != "" || made.Stages[0].Agents[0].Providers[0].Name != "scripted:acmex" {
		t.Errorf("%+v\n%s", made.Stages[0].Agents[0].Providers, diff)
	}
	stage, err := p.Scoring(t.Context(), req, "")
	if err != nil || stage.Agents[0].Providers[0].Name != "scripted:acmex" || received.Agent != "Judge" {
		t.Errorf("%v: %+v by %s", err, stage, received.Agent)
	}
	req.Chain, req.AlertType = "", ""
	if _, err = p.Plan(t.Context(), req, "x"); err != nil || received.Chain != "c" || received.AlertType != "usual" {
		t.Errorf("by default: %v: %+v", err, received)
	}
	if req.Chain, req.Project = "c", "other"; true {
		_, err = p.Scoring(t.Context(), req, "")
	}
	if err == nil || !strings.Contains(err.Error(), `project "other" has no agent with that name`) {
		t.Errorf("another project's judge: %v", err)
	}
	talk, err := p.Conversation(t.Context(), agent.ConversationRequest{Agent: "Clerk", Project: "payments"})
	if err != nil || talk.Stages[0].Agents[0].Providers[0].Name != "scripted:x" || received.Chain+received.AlertType != "" {
		t.Errorf("%v: %+v by %+v", err, talk, received)
	}
}

// An error in a selector refuses the request, without revealing a secret.
func TestSelectorsFail(t *testing.T) {
	t.Parallel()
	for want, choose := range map[string]hook.Selector{
		"agent Clerk: the selector \"s\": nobody knows: password=": func(context.Context, hook.SelectorInput) (string, error) {
			return "", errors.New("nobody knows: password=q8Zr2LxW0pT7vN4k")
		},
		"unknown provider \"password=": func(context.Context, hook.SelectorInput) (string, error) { return "password=q8Zr2LxW0pT7vN4k:x", nil },
		"the selector \"s\": ":         func(context.Context, hook.SelectorInput) (string, error) { panic("at once") },
		"context canceled":             func(ctx context.Context, _ hook.SelectorInput) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if cancel(); !strings.Contains(want, "canceled") {
			ctx = t.Context()
		}
		_, err := defined(t, choose).Plan(ctx, agent.Request{Chain: "c", Labels: agent.Labels{Project: "payments"}}, "x")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "q8Zr") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Selectors share a timeout, after which the request is refused. After one has failed, no other is called.
func TestSlowSelectors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, began := 0, time.Now()
		p := defined(t, func(ctx context.Context, _ hook.SelectorInput) (string, error) {
			asked++
			select {
			case <-ctx.Done():
			case <-time.After(selectorTime * 3 / 4):
			}
			return "scripted:x", nil
		})
		_, err := p.Plan(t.Context(), agent.Request{Chain: "c", Labels: agent.Labels{Project: "payments"}}, "x")
		if err == nil || !strings.Contains(err.Error(), "the selectors of a plan took more than 20s in total") || t.Context().Err() != nil {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != selectorTime || asked != 2 {
			t.Errorf("%d were asked, for %v", asked, took)
		}
	})
}

// A workflow task never waits for a selector. Data that is too large or missing is refused before any is called.
func TestSelectorsAreNotAsked(t *testing.T) {
	t.Parallel()
	p := defined(t, func(context.Context, hook.SelectorInput) (string, error) { return "", errors.New("it is asked") })
	req := agent.Request{Chain: "c", Labels: agent.Labels{Project: "payments"}}
	if _, err := p.Plan(t.Context(), req, " "); err == nil || strings.Contains(err.Error(), "it is asked") {
		t.Errorf("without data: %v", err)
	}
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	_, err := env.ExecuteLocalActivity(func(ctx context.Context) error {
		if _, err := p.Plan(ctx, req, "x"); !errors.Is(err, activities.ErrTakesLong) {
			t.Errorf("in a workflow task: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

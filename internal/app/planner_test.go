package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// stored are agents that were made at run time.
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

// defined is a configuration with two agents that are made at run time, and that a function finds the models of.
func defined(t *testing.T, choose hook.Selector) planner {
	t.Helper()
	agents := map[string]*config.Agent{"Clerk": {AgentSource: virtual.Source}, "Judge": {AgentSource: virtual.Source, Type: "scoring"}}
	chain := &config.Chain{
		Stages: []*config.Stage{{Name: "s", Agents: []*config.StageAgent{{Name: "Clerk"}}}}, Scoring: config.Closing{Agent: "Judge"},
	}
	cfg, err := config.Load(config.Source{
		Entries:   config.Entries{Agents: agents, AgentChains: map[string]*config.Chain{"c": chain}},
		Selectors: []string{"s"}, Env: func(string) (string, bool) { return "x", true },
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

// A selector is told of the request what may be stored of it, wherever a plan is made: for an investigation, a conversation,
// or a score that somebody asks for later, by an agent that was made at run time.
func TestSelectorsAreTold(t *testing.T) {
	t.Parallel()
	const secret = "password=q8Zr2LxW0pT7vN4k"
	var told hook.SelectorInput
	p := defined(t, func(_ context.Context, in hook.SelectorInput) (string, error) {
		told = in
		return "scripted:" + in.Tenant + "x", nil
	})
	labels := agent.Labels{Project: "payments", Tenant: "acme", Metadata: map[string]string{"note": secret}}
	req := agent.Request{Chain: "c", AlertType: "a", By: "ann", Labels: labels}
	made, err := p.Plan(t.Context(), req, "the data: "+secret)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(told.Request+told.Metadata["note"], "q8Zr") || !strings.HasPrefix(told.Request, "the data: ") {
		t.Errorf("it is told %q, %q", told.Request, told.Metadata)
	}
	told.Request, told.Metadata = "", nil
	want := hook.SelectorInput{Agent: "Clerk", Chain: "c", AlertType: "a", Project: "payments", RequestedBy: "ann", Tenant: "acme"}
	if diff := cmp.Diff(want, told); diff != "" || made.Stages[0].Agents[0].Providers[0].Name != "scripted:acmex" {
		t.Errorf("%+v\n%s", made.Stages[0].Agents[0].Providers, diff)
	}
	stage, err := p.Scoring(t.Context(), req, "")
	if err != nil || stage.Agents[0].Providers[0].Name != "scripted:acmex" || told.Agent != "Judge" {
		t.Errorf("%v: %+v by %s", err, stage, told.Agent)
	}
	if req.Project = "other"; true {
		_, err = p.Scoring(t.Context(), req, "")
	}
	if err == nil || !strings.Contains(err.Error(), `the project "other" has none`) {
		t.Errorf("another project's judge: %v", err)
	}
	talk, err := p.Conversation(t.Context(), agent.ConversationRequest{Agent: "Clerk", Project: "payments"})
	if err != nil || talk.Stages[0].Agents[0].Providers[0].Name != "scripted:x" {
		t.Errorf("%v: %+v", err, talk)
	}
}

// What goes wrong in a selector refuses the request, without a secret in it.
func TestSelectorsFail(t *testing.T) {
	t.Parallel()
	for want, choose := range map[string]hook.Selector{
		"agent Clerk: the selector \"s\": nobody knows: password=": func(context.Context, hook.SelectorInput) (string, error) {
			return "", errors.New("nobody knows: password=q8Zr2LxW0pT7vN4k")
		},
		"the selector \"s\": ": func(context.Context, hook.SelectorInput) (string, error) { panic("at once") },
		"context canceled":     func(ctx context.Context, _ hook.SelectorInput) (string, error) { <-ctx.Done(); return "", ctx.Err() },
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

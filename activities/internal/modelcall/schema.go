package modelcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// keepsSchema reports whether a provider enforces the contract's schema on the agent's final text. Every request carries the
// schema, even while the agent may call tools, so that requests share a prefix for prompt caching. For an agent that must
// cite evidence the schema is not enforced, because it has no field for citations.
func (g *briefing) keepsSchema(p *plan.Provider) bool {
	var root struct {
		Type any `json:"type"`
	}
	schema := g.Contract().Schema
	besideTools := g.Row.Pattern != agent.SingleShot || len(nativeTools(p)) > 0
	return json.Unmarshal(schema, &root) == nil && root.Type == "object" && !g.NamesEvidence() &&
		llm.KeepsSchema(p.Dialect().Structured, llm.Request{Model: p.Model, Schema: schema, Thinking: p.Thinking}, besideTools)
}

// spelledOut returns the contract for the prompt. It includes the schema, unless every provider of the agent receives
// the schema separately.
func (g *briefing) spelledOut() plan.Contract {
	c := g.Contract()
	inWords := func(p plan.Provider) bool { return !g.keepsSchema(&p) }
	if len(g.Agent.Providers) > 0 && !slices.ContainsFunc(g.Agent.Providers, inWords) {
		c.Schema = nil
	}
	return c
}

// ask streams the reply to a request. If a model refuses a request with a schema, ask repeats it with the schema in the
// prompt: a refusal costs nothing, and few providers explain it.
func (g *generation) ask(ctx context.Context, leave *permit, client llm.Client, request *llm.Request) (llm.Response, error) {
	if len(request.Schema) > 0 && g.Refused.Has(g.provider(), g.Contract()) {
		request = g.inWords(*request)
	}
	reply, err := g.stream(ctx, leave, client, request)
	refusal, ok := errors.AsType[*llm.Error](err)
	if len(request.Schema) == 0 || !ok || !errors.Is(err, llm.ErrInvalidRequest) ||
		refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity {
		return reply, err
	}
	second, failed := g.stream(ctx, leave, client, g.inWords(*request))
	if errors.Is(failed, llm.ErrInvalidRequest) {
		return reply, err // the refusal had another reason
	}
	if failed == nil {
		g.addRefusal(refusal)
	}
	return second, failed
}

// addRefusal notes that a model refuses the schema.
func (g *generation) addRefusal(refusal *llm.Error) {
	g.Refused.Add(g.provider(), g.Contract())
	g.add(transcript.KindNotice, transcript.Body{Text: job.Clipped(fmt.Sprintf(
		"%s rejected the JSON schema of the output, so the prompt contains it instead: %s", g.provider().Name, refusal.Message))})
}

// inWords puts the schema into the prompt, after the system text, where it is the same in every request.
func (g *briefing) inWords(request llm.Request) *llm.Request {
	request.Schema, request.JSON = nil, len(request.Tools) == 0
	if len(g.spelledOut().Schema) > 0 {
		return &request // the system prompt already has it, for another provider of the agent
	}
	first := slices.IndexFunc(request.Messages, func(m agent.Message) bool { return m.Role != agent.System })
	if first < 0 {
		first = len(request.Messages)
	}
	words := agent.Message{Role: agent.User, Content: strings.TrimSpace(prompt.Contract(g.Contract()))}
	request.Messages = slices.Insert(slices.Clone(request.Messages), first, words)
	return &request
}

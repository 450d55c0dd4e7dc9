package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// refusedSchemas holds the schemas that models have refused, for the worker's lifetime. Supported features are checked
// beforehand, but no provider documents how complex a schema may be.
type refusedSchemas struct{ known sync.Map } // keys: schemaOf; values unused

type schemaOf struct{ provider, model, schema string }

func (r *refusedSchemas) has(p plan.Provider, c plan.Contract) bool {
	_, ok := r.known.Load(schemaOf{p.Name, p.Model, string(c.Schema)})
	return ok
}

func (r *refusedSchemas) add(p plan.Provider, c plan.Contract) {
	r.known.Store(schemaOf{p.Name, p.Model, string(c.Schema)}, nil)
}

// ask streams the reply to a request. If a model refuses a request with a schema, ask repeats it with the schema in the
// prompt: a refusal costs nothing, and few providers explain it.
func (g *generation) ask(ctx context.Context, leave *permit, client llm.Client, request llm.Request) (llm.Response, error) {
	provider := g.provider()
	if len(request.Schema) > 0 && g.refused.has(provider, g.contract()) {
		request = g.inWords(request)
	}
	reply, err := g.stream(ctx, leave, client, request)
	refusal, ok := errors.AsType[*llm.Error](err)
	if len(request.Schema) == 0 || !ok || !errors.Is(err, llm.ErrInvalidRequest) ||
		refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity {
		return reply, err
	}
	reply, second := g.stream(ctx, leave, client, g.inWords(request))
	switch {
	case second == nil:
		g.refused.add(provider, g.contract())
		g.add(transcript.KindNotice, transcript.Body{Text: clipped(fmt.Sprintf(
			"%s rejected the JSON schema of the output, so the prompt contains it instead: %s", provider.Name, refusal.Message))})
	case errors.Is(second, llm.ErrInvalidRequest):
		return reply, err // the refusal had another reason
	}
	return reply, second
}

// inWords puts the schema into the prompt, after the system text, where it is the same in every request.
func (g *generation) inWords(request llm.Request) llm.Request {
	request.Schema, request.JSON = nil, len(request.Tools) == 0
	if len(g.spelledOut().Schema) > 0 {
		return request // the system prompt already has it, for another provider of the agent
	}
	first := slices.IndexFunc(request.Messages, func(m agent.Message) bool { return m.Role != agent.System })
	if first < 0 {
		first = len(request.Messages)
	}
	words := agent.Message{Role: agent.User, Content: strings.TrimSpace(prompt.Contract(g.contract()))}
	request.Messages = slices.Insert(slices.Clone(request.Messages), first, words)
	return request
}

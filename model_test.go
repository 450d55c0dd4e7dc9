package inquest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

// through returns a Model that calls one of our clients. Everything that the clients' test suite checks must survive
// the public types.
func through(client llm.Client) Model {
	return func(ctx context.Context, req ModelRequest, emit func(ModelDelta)) (ModelReply, error) {
		asked := llm.Request{
			Model: req.Model, JSON: req.JSON, Schema: req.Schema,
			Thinking:     agent.Thinking{Mode: agent.ThinkingMode(req.Thinking.Mode), Budget: req.Thinking.Budget, Effort: req.Thinking.Effort},
			Conversation: req.Conversation, Temperature: req.Temperature, MaxTokens: req.MaxTokens,
		}
		for _, m := range req.Messages {
			own := agent.Message{
				Role: agent.Role(m.Role), Content: m.Content, Thinking: m.Thinking, ToolCallID: m.ToolCallID, Ref: m.Ref,
				ProviderState: m.ProviderState,
			}
			for _, call := range m.ToolCalls {
				own.ToolCalls = append(own.ToolCalls, agent.ToolCall(call))
			}
			for _, image := range m.Images {
				own.Images = append(own.Images, agent.Image(image))
			}
			asked.Messages = append(asked.Messages, own)
		}
		for _, t := range req.Withheld {
			asked.Withheld = append(asked.Withheld, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
		for _, t := range req.Tools {
			asked.Tools = append(asked.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
		got, err := client.Generate(ctx, asked, func(d llm.Delta) { emit(ModelDelta(d)) })
		if failed, ok := errors.AsType[*llm.Error](err); ok {
			got.Usage = failed.Usage
			err = &ModelError{Kind: failed.Kind, Status: failed.Status, RetryAfter: failed.RetryAfter, Message: failed.Message}
		}
		reply := ModelReply{
			Content: got.Content, Thinking: got.Thinking, Finish: string(got.Finish), Model: got.Model, ProviderState: got.ProviderState,
			Usage: ModelUsage{
				InputTokens: got.Usage.InputTokens, OutputTokens: got.Usage.OutputTokens,
				CacheReadTokens: got.Usage.CacheReadTokens, CacheWriteTokens: got.Usage.CacheWriteTokens,
				ReasoningTokens: got.Usage.ReasoningTokens, ImageTokens: got.Usage.ImageTokens,
			},
		}
		for _, call := range got.ToolCalls {
			reply.ToolCalls = append(reply.ToolCalls, ModelToolCall(call))
		}
		return reply, err
	}
}

func TestModelIsAClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.OpenAI, func(baseURL string) llm.Client {
		client, err := openai.New(llm.Options{
			Name: "openai", BaseURL: baseURL, APIKey: func() (string, error) { return "sk-test-key-0123456789", nil },
			IdleTimeout: llmtest.Idle, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		return modelClient{"test", through(client), slog.New(slog.DiscardHandler)}
	})
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model Model
		want  error
	}{
		"of no kind": {func(context.Context, ModelRequest, func(ModelDelta)) (ModelReply, error) {
			return ModelReply{}, errors.New("refused")
		}, ErrMalformed},
		"unavailable": {func(context.Context, ModelRequest, func(ModelDelta)) (ModelReply, error) {
			return ModelReply{}, fmt.Errorf("dial: %w", ErrUnavailable)
		}, ErrUnavailable},
		"of a kind": {func(context.Context, ModelRequest, func(ModelDelta)) (ModelReply, error) {
			return ModelReply{}, &ModelError{Kind: ErrRateLimited, RetryAfter: time.Minute, Message: "slowly"}
		}, ErrRateLimited},
		"a panic": {func(context.Context, ModelRequest, func(ModelDelta)) (ModelReply, error) { panic("no") }, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modelClient{"own", tc.model, slog.New(slog.DiscardHandler)}.Generate(t.Context(), llm.Request{}, nil)
			got, ok := errors.AsType[*llm.Error](err)
			if !ok || !errors.Is(err, tc.want) || errors.Is(tc.want, ErrRateLimited) && got.RetryAfter != time.Minute {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestModelNamesItsSources(t *testing.T) {
	t.Parallel()
	model := func(context.Context, ModelRequest, func(ModelDelta)) (ModelReply, error) {
		return ModelReply{Content: "It is fixed.", Sources: []ModelSource{{Title: "notes", URL: "https://a.example"}}}, nil
	}
	got, err := modelClient{"test", model, slog.New(slog.DiscardHandler)}.Generate(t.Context(), llm.Request{}, nil)
	if err != nil || len(got.Sources) != 1 || got.Sources[0] != (llm.Source{Title: "notes", URL: "https://a.example"}) {
		t.Errorf("%+v, %v", got.Sources, err)
	}
}

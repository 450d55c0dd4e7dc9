package scripted_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/scripted"
)

var reply = llm.Response{
	Thinking:  strings.Repeat("thinking… ", 12),
	Content:   strings.Repeat("größer ", 20),
	ToolCalls: []agent.ToolCall{{ID: "1", Name: "look", Arguments: `{"a":1}`}},
	Finish:    llm.FinishToolCalls,
}

func client(pace time.Duration) *scripted.Client {
	return scripted.New("test", func(llm.Request) llm.Response { return reply }, scripted.Options{Pace: pace})
}

// TestStreamAddsUpToTheReply: thinking comes first, in several chunks, at the given pace.
func TestStreamAddsUpToTheReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got llm.Response
		n, began := 0, time.Now()
		res, err := client(time.Second).Generate(t.Context(), llm.Request{}, func(d llm.Delta) {
			if d.Thinking != "" && got.Content != "" {
				t.Error("thinking after text")
			}
			n++
			got.Thinking += d.Thinking
			got.Content += d.Content
		})
		if err != nil {
			t.Fatal(err)
		}
		if n < 8 {
			t.Errorf("%d chunks", n)
		}
		if diff := cmp.Diff([]string{reply.Thinking, reply.Content}, []string{got.Thinking, got.Content}); diff != "" {
			t.Errorf("streamed (-want +got):\n%s", diff)
		}
		if took, want := time.Since(began), time.Duration(n+1)*time.Second; took != want {
			t.Errorf("%d chunks took %v, want %v", n, took, want)
		}
		want := reply
		want.Model = "scripted/test"
		want.Usage = agent.Usage{InputTokens: 0, OutputTokens: 30 + 35 + 1 + 2, ModelCalls: 1}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("reply (-want +got):\n%s", diff)
		}
	})
}

// TestCancelEndsTheStreamAtOnce cancels between two chunks.
func TestCancelEndsTheStreamAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, n := time.Now(), 0
		_, err := client(time.Hour).Generate(ctx, llm.Request{}, func(llm.Delta) {
			n++
			time.AfterFunc(time.Second, cancel)
		})
		var failure *llm.Error
		if !errors.Is(err, context.Canceled) || !errors.As(err, &failure) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); n != 1 || took != time.Hour+time.Second {
			t.Errorf("%d chunks in %v", n, took)
		}
	})
}

func TestUsageCountsTheRequest(t *testing.T) {
	t.Parallel()
	res, err := client(0).Generate(t.Context(), llm.Request{
		Messages: []agent.Message{{Content: "12345678", Thinking: "1234", ToolCalls: []agent.ToolCall{{Name: "1234", Arguments: "12345"}}}},
		Tools:    []llm.Tool{{Name: "1234", Description: "1234", Schema: []byte("{}")}},
	}, nil)
	if err != nil || res.Usage.InputTokens != 2+1+1+2+1+1+1 {
		t.Errorf("usage %+v, error %v", res.Usage, err)
	}
}

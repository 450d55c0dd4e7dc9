package activities_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/tool"
)

// The log says that a model fails only when different conversations fail, and once however many calls fail. A single
// conversation's failure is logged with its name. A refusal because of the content is neither, nor is it a worker error.
func TestTroubleIsLoggedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log bytes.Buffer
	b.act.Logger = slog.New(slog.NewTextHandler(&log, nil))
	limited, away := &llm.Error{Kind: llm.ErrRateLimited, Provider: "p"}, &llm.Error{Kind: llm.ErrUnavailable, Provider: "p"}
	const one, other, third = "inv", "other", "third"
	calls := []struct {
		by  string
		end error
	}{
		{one, &llm.Error{Kind: llm.ErrContextTooLong, Provider: "p"}},
		{one, limited}, {one, away}, {one, nil}, {one, nil}, // a conversation of its own
		{other, away}, {one, nil}, {other, away}, // still one conversation: the model answers the other
		{one, away}, {third, away}, {other, away}, // three fail
		{third, nil}, {one, &llm.Error{Kind: llm.ErrAuth, Provider: "p"}},
	}
	for n, call := range calls {
		if b.ref.Investigation = call.by; n > 0 && call.by != one {
			s := b.scope()
			s.Investigation = call.by
			if err := b.store.SaveCatalogue(t.Context(), s, tool.Catalogue{Server: "lab", Tools: labTools}); err != nil {
				t.Fatal(err)
			}
		}
		b.reply = func(llm.Request) (llm.Response, error) {
			return llm.Response{Content: "x", Finish: llm.FinishStop}, call.end
		}
		_, err := b.generate(activities.GenerateIn{Iteration: n + 1, Try: 1})
		if (err == nil) != (call.end == nil) {
			t.Fatalf("call %d: %v", n, err)
		}
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Category() != temporal.ApplicationErrorCategoryBenign {
			t.Errorf("call %d: the SDK logs %v as an error", n, err)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	want := [][]string{
		{`level=WARN msg="a model call failed" provider=p model=gpt-4o error_type=RateLimited`, ` investigation=inv execution=s/A`},
		{`level=WARN msg="a model replied after failed calls" provider=p model=gpt-4o after=0s failed_calls=2`},
		{`msg="a model call failed"`, ` investigation=other `},
		{`msg="a model call failed"`, ` investigation=other `},
		{`level=WARN msg="a model fails for different conversations" provider=p model=gpt-4o error_type=ModelUnavailable`, ` failed_calls=2`},
		{`msg="a model replied after failed calls"`, `failed_calls=4`},
		{`msg="a model call failed" provider=p model=gpt-4o error_type=CredentialsRefused`, ` investigation=inv `},
	}
	if len(lines) != len(want) {
		t.Fatalf("logged\n%s", &log)
	}
	for n := range want {
		for _, part := range want[n] {
			if !strings.Contains(lines[n], part) {
				t.Errorf("logged %s\nwant   %s", lines[n], part)
			}
		}
	}
}

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
)

// A provider's trouble is two lines in the log, its beginning and its end, however many calls fail. A refusal because of
// the content is neither trouble nor a worker error.
func TestTroubleIsLoggedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log bytes.Buffer
	b.act.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ends := []error{
		&llm.Error{Kind: llm.ErrContextTooLong, Provider: "p"},
		&llm.Error{Kind: llm.ErrRateLimited, Provider: "p"}, &llm.Error{Kind: llm.ErrUnavailable, Provider: "p"}, nil, nil,
		&llm.Error{Kind: llm.ErrAuth, Provider: "p"},
	}
	for n, end := range ends {
		b.reply = func(llm.Request) (llm.Response, error) {
			return llm.Response{Content: "x", Finish: llm.FinishStop}, end
		}
		_, err := b.generate(activities.GenerateIn{Iteration: n + 1, Try: 1})
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Category() != temporal.ApplicationErrorCategoryBenign {
			t.Errorf("call %d: the SDK logs %v as an error", n, err)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	want := []string{
		`level=WARN msg="a model's provider is in trouble" provider=p model=gpt-4o error_type=RateLimited`,
		`level=WARN msg="a model's provider answers again" provider=p model=gpt-4o after=0s failed_calls=2`,
		`level=WARN msg="a model's provider is in trouble" provider=p model=gpt-4o error_type=CredentialsRefused`,
	}
	if len(lines) != len(want) {
		t.Fatalf("logged\n%s", &log)
	}
	for n := range want {
		if !strings.Contains(lines[n], want[n]) {
			t.Errorf("logged %s\nwant   %s", lines[n], want[n])
		}
	}
}

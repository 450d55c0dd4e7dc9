package program

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/hook"
)

// A function that hangs fails permanently after its timeout, whether or not it watches its context.
func TestCodeThatHangs(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"watches its context": false, "ignores its context": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				late := hook.Mock(func(ctx context.Context, _ hook.MockInput) (any, error) {
					if deaf {
						time.Sleep(2 * CodeTime)
					}
					<-ctx.Done()
					return "late", ctx.Err()
				})
				c := Function{Job: &job.Job{Worker: &job.Worker{}}, Name: "m", ErrorType: job.ErrorMock}
				text, err := Run(t.Context(), c, func(ctx context.Context) (string, error) { return late.Call(ctx, hook.MockInput{}, nil) })
				failed, ok := errors.AsType[*temporal.ApplicationError](err)
				const want = "m: it did not return within 10m0s. "
				if !ok || !failed.NonRetryable() || failed.Type() != job.ErrorMock || !strings.HasPrefix(failed.Message(), want) {
					t.Errorf("got %q, %v", text, err)
				}
				if took := time.Since(began); took != CodeTime {
					t.Errorf("it took %s", took)
				}
				time.Sleep(2 * CodeTime) // long enough for it to return
			})
		})
	}
}

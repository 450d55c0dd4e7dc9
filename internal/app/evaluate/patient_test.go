package evaluate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// failing fails with one error after another, and then answers.
type failing struct{ errs []error }

func (f *failing) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	if len(f.errs) == 0 {
		return llm.Response{Content: "done"}, nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return llm.Response{}, err
}

// TestPatient: temporary errors are waited for in real time, as long as the provider asks, and not forever.
func TestPatient(t *testing.T) {
	t.Parallel()
	limited := &llm.Error{Kind: llm.ErrRateLimited, RetryAfter: time.Minute}
	away := &llm.Error{Kind: llm.ErrUnavailable, Provider: "p", Message: "too busy"}
	for name, test := range map[string]struct {
		errs []error
		took time.Duration
		want string // the error after which the model is not called again
	}{
		"at once":         {nil, 0, ""},
		"limited":         {[]error{limited, limited}, 2 * time.Minute, ""},
		"away for a time": {[]error{away, away, away}, (2 + 4 + 8) * time.Second, ""},
		"away": {[]error{away, away, away, away, away, away, away}, (2 + 4 + 8 + 16 + 32) * time.Second,
			"p: provider unavailable: too busy"},
		"no key":  {[]error{&llm.Error{Kind: llm.ErrNoKey, Provider: "p"}}, 0, "p: no credentials"},
		"refused": {[]error{&llm.Error{Kind: llm.ErrContextTooLong, Provider: "p"}}, 0, ""},
		"other":   {[]error{errors.ErrUnsupported}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, gaveUp := time.Now(), ""
				model := patient{&failing{errs: test.errs}, t.Context(), func(err *llm.Error) { gaveUp = err.Error() }}
				out, err := model.Generate(t.Context(), llm.Request{}, nil)
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				answers := name == "at once" || name == "limited" || name == "away for a time"
				if gaveUp != test.want || answers != (err == nil) || answers && out.Content != "done" {
					t.Errorf("%+v, %v; gave up: %s", out, err, gaveUp)
				}
				if test.want != "" && !errors.Is(err, llm.ErrInvalidRequest) {
					t.Errorf("the workflow would wait after %v", err)
				}
			})
		})
	}
}

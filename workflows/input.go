package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/clip"
)

// update is an update handler of a workflow: it rejects or answers a request.
type update[In, Out any] struct {
	name  string
	does  string // with an example of the input
	input string
	read  func(converter.RawValue) (In, error)
	check func(In) error
	take  func(workflow.Context, In) (Out, error)
}

// reading decodes an input strictly. The SDK's decoder accepts unknown fields, and its errors
// use Go terms.
func reading[In any](value converter.RawValue) (in In, err error) {
	err = readInput(value, &in)
	return in, err
}

// serve registers the update.
func (u update[In, Out]) serve(ctx workflow.Context) error {
	validate := func(value converter.RawValue) error {
		in, err := u.read(value)
		if err != nil {
			return wrongInput(u.name, u.input, err)
		}
		if err := u.check(in); err != nil {
			text := fit(err.Error(), maxWhy)
			if errors.As(err, new(*notPendingError)) {
				return temporal.NewNonRetryableApplicationError(text, ErrorNotPending, nil)
			}
			return errors.New(text)
		}
		return nil
	}
	take := func(ctx workflow.Context, value converter.RawValue) (out Out, err error) {
		in, err := u.read(value)
		if err != nil {
			return out, err
		}
		return u.take(ctx, in)
	}
	options := workflow.UpdateHandlerOptions{Validator: validate, Description: u.does}
	return workflow.SetUpdateHandlerWithOptions(ctx, u.name, take, options)
}

// notPendingError rejects an answer or a decision that nothing waits for.
type notPendingError struct{ text string }

func (e *notPendingError) Error() string { return e.text }

func notPending(format string, args ...any) error {
	return &notPendingError{fmt.Sprintf(format, args...)}
}

// wrongInput returns an error that explains an invalid input and shows the expected one.
func wrongInput(name, input string, err error) error {
	return fmt.Errorf("%s: %v; the input is %s", name, err, input) // flat: Temporal's CLI prints causes, too
}

// readInput decodes an input from a person. An empty input leaves into unchanged. Errors
// contain names of fields, never their values.
func readInput(value converter.RawValue, into any) error {
	var raw json.RawMessage
	if payload := value.Payload(); payload != nil {
		if err := converter.GetDefaultDataConverter().FromPayload(payload, &raw); err != nil {
			return errors.New("it is not JSON")
		}
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == `""`: // the Temporal UI sends an empty text for nothing
		return nil
	case !json.Valid(raw):
		return errors.New("it is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "it"
		if wrong.Field != "" {
			what = fmt.Sprintf("%q", clip.Text(wrong.Field, 40))
		}
		kind, _, _ := strings.Cut(wrong.Value, " ") // of a number, its digits come after it
		return fmt.Errorf("%s cannot be of type %s", what, kind)
	}
	if err != nil {
		return errors.New(clip.Text(strings.TrimPrefix(err.Error(), "json: "), 100)) // unknown field "…"
	}
	return nil
}

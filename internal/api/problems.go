package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// kinds maps errors of the system to a status and a problem type. The first match wins.
var kinds = []struct {
	kind   error
	status int
	name   string // ending of the problem type, by which Remote recognises the kind; empty if it has none, as for hidden things
	text   string // empty means the error's own text
}{
	{virtual.ErrTaken, http.StatusConflict, "taken", ""},
	{virtual.ErrChanged, http.StatusPreconditionFailed, "changed", ""},
	{record.ErrNotFound, http.StatusNotFound, "", "nothing you can see has this ID"},
	{client.ErrEnded, http.StatusConflict, "ended", ""},
	{client.ErrRefused, http.StatusConflict, "refused", ""},
	{client.ErrTooLate, http.StatusConflict, "too-late", "too late: it is no longer pending"},
	{ErrNeedsApproval, http.StatusConflict, "needs-approval", "the call needs a person's word: give approved"},
	{client.ErrReused, http.StatusUnprocessableEntity, "", "the Idempotency-Key was used for another request"},
	{client.ErrPending, http.StatusGatewayTimeout, "pending", "accepted, but not finished yet: do not repeat it"},
	{client.ErrNotTaken, http.StatusGatewayTimeout, "not-taken", "no worker accepted it in time; one may yet"},
	{client.ErrUnanswered, http.StatusServiceUnavailable, "", "it is running, but no worker is responding"},
	{client.ErrNoStore, http.StatusServiceUnavailable, "", "the store is not there yet"},
	{record.ErrUnavailable, http.StatusServiceUnavailable, "", "the store does not answer at the moment"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "", "it took too long"},
	{context.Canceled, http.StatusServiceUnavailable, "", "the request was given up"},
}

const (
	problemType = "urn:inquest:" // prefix of problem types
	refusedCall = "call:"        // prefix of the error type for a refused tool call
)

// typed returns a problem with a type. An empty name means no type.
func typed(name string, status int, detail string) error {
	p := &huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail}
	if name != "" {
		p.Type = problemType + name
	}
	return p
}

// explain turns an error into a problem. Internal errors go to the log only.
func (s *Server) explain(ctx context.Context, operation string, err error) error {
	if err == nil || errors.As(err, new(huma.StatusError)) {
		return err
	}
	if wrong := problemsOf(err); wrong != nil {
		return wrong
	}
	switch {
	case errors.As(err, new(*client.LateError)):
		return typed("too-late", http.StatusConflict, err.Error())
	case errors.As(err, new(*client.NotWaitingError)):
		return typed("not-pending", http.StatusConflict, err.Error())
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return typed(k.name, k.status, cmp.Or(k.text, err.Error()))
		}
	}
	var asked *client.UpdateError
	var refusal *tool.Refusal
	switch {
	case errors.As(err, &refusal):
		return typed(refusedCall+refusal.Type, http.StatusUnprocessableEntity, err.Error())
	case errors.As(err, new(*client.InputError)), errors.As(err, new(*config.PlanError)):
		return huma.Error422UnprocessableEntity(err.Error())
	case errors.As(err, new(*client.TakenError)), errors.As(err, new(*client.ScoringError)):
		return huma.Error409Conflict(err.Error())
	case errors.As(err, new(*app.RateLimitError)):
		return huma.Error429TooManyRequests(err.Error())
	case errors.As(err, new(*serviceerror.NotFound)):
		return typed("ended", http.StatusConflict, "it has ended")
	case errors.As(err, new(*serviceerror.InvalidArgument)):
		return huma.Error422UnprocessableEntity("Temporal does not take it")
	case errors.As(err, new(*client.UnreachableError)), errors.As(err, new(*serviceerror.Unavailable)),
		errors.As(err, new(*serviceerror.DeadlineExceeded)):
		return huma.Error503ServiceUnavailable("Temporal does not answer at the moment")
	case errors.As(err, &asked):
		err = asked.Err
	}
	s.opts.Logger.ErrorContext(ctx, "an operation of the API failed", "operation", operation, "error", err)
	return huma.Error500InternalServerError("it did not work; the log says why")
}

func isHidden(err error) bool {
	status, ok := errors.AsType[huma.StatusError](err)
	return errors.Is(err, record.ErrNotFound) || ok && status.GetStatus() == http.StatusNotFound
}

// problem writes a problem outside of an operation.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.NewError(status, detail)) // an error means that the client has left
}

// check refuses paths and queries that are not valid text, which neither the store nor Temporal accepts.
func (s *Server) check(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	query, err := url.QueryUnescape(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B"))
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	if text := r.URL.Path + query; err != nil || !utf8.ValidString(text) || strings.ContainsFunc(text, control) {
		_ = huma.WriteErr(s.huma, ctx, http.StatusBadRequest, "the address has characters that are no text")
		return
	}
	next(ctx)
}

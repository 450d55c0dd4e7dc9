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

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Texts that several operations return.
const (
	notVisible    = "nothing with this ID exists in your projects"
	internalError = "internal error: see the worker's log"
)

// errCursor means that a cursor is not one that the API has returned.
var errCursor = huma.Error422UnprocessableEntity("invalid cursor: use the value of next from the previous page")

// kinds maps errors of the system to a status and a problem type. The first match wins.
var kinds = []struct {
	kind   error
	status int
	text   string // empty means the error's own text
}{
	{virtual.ErrTaken, http.StatusConflict, ""},
	{virtual.ErrChanged, http.StatusPreconditionFailed, ""},
	{record.ErrReviewState, http.StatusConflict, ""},
	{plan.ErrNewer, http.StatusConflict, ""},
	{record.ErrNotFound, http.StatusNotFound, notVisible},
	{system.ErrEnded, http.StatusConflict, ""},
	{system.ErrRefused, http.StatusConflict, ""},
	{system.ErrTooLate, http.StatusConflict, "too late: it is no longer pending"},
	{system.ErrNeedsApproval, http.StatusConflict, "the call needs approval: set approved to approve it yourself"},
	{system.ErrReused, http.StatusUnprocessableEntity, "the Idempotency-Key was already used with a different request: use a new key"},
	{system.ErrPending, http.StatusGatewayTimeout, "accepted, but not finished yet; do not send it again"},
	{system.ErrNotTaken, http.StatusGatewayTimeout, "no worker accepted it in time, but one may do so later"},
	{system.ErrUnanswered, http.StatusServiceUnavailable, "it is running, but no worker is responding"},
	{system.ErrNoStore, http.StatusServiceUnavailable, "no store yet: start a worker, which creates it"},
	{record.ErrUnavailable, http.StatusServiceUnavailable, "the store is not responding at the moment: retry later"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "the operation timed out"},
	{context.Canceled, http.StatusServiceUnavailable, "the request was cancelled"},
}

// typed returns a problem with a type. An empty name means no type.
func typed(name string, status int, detail string) error {
	p := &huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail}
	if name != "" {
		p.Type = system.ProblemType + name
	}
	return p
}

// explain turns an error into a problem. Internal errors go to the log only.
func (b base) explain(ctx context.Context, operation string, err error) error {
	if err == nil || errors.As(err, new(huma.StatusError)) {
		return err
	}
	if wrong := problemsOf(err); wrong != nil {
		return wrong
	}
	switch {
	case errors.As(err, new(*system.LateError)):
		return typed(system.ProblemName(system.ErrTooLate), http.StatusConflict, err.Error())
	case errors.As(err, new(*client.NotWaitingError)):
		return typed("not-pending", http.StatusConflict, err.Error())
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return typed(system.ProblemName(k.kind), k.status, cmp.Or(k.text, err.Error()))
		}
	}
	var asked *system.UpdateError
	var refusal *tool.Refusal
	switch {
	case errors.As(err, &refusal):
		return typed(system.RefusedCall+refusal.Type, http.StatusUnprocessableEntity, err.Error())
	case errors.As(err, new(*system.InputError)), errors.As(err, new(*configuration.PlanError)):
		return huma.Error422UnprocessableEntity(err.Error())
	case errors.As(err, new(*system.TakenError)), errors.As(err, new(*system.ScoringError)):
		return huma.Error409Conflict(err.Error())
	case errors.As(err, new(*ratelimit.Error)):
		return huma.Error429TooManyRequests(err.Error())
	case errors.As(err, new(*serviceerror.NotFound)):
		return typed(system.ProblemName(system.ErrEnded), http.StatusConflict, "it has already ended")
	case errors.As(err, new(*serviceerror.InvalidArgument)):
		return huma.Error422UnprocessableEntity("Temporal rejected the request")
	case errors.As(err, new(*system.UnreachableError)), errors.As(err, new(*serviceerror.Unavailable)),
		errors.As(err, new(*serviceerror.DeadlineExceeded)):
		return huma.Error503ServiceUnavailable("Temporal is not responding at the moment: retry later")
	case errors.As(err, &asked):
		err = asked.Err
	}
	b.opts.Logger.ErrorContext(ctx, "an API operation failed", "operation", operation, "error", err)
	return huma.Error500InternalServerError(internalError)
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
		_ = huma.WriteErr(s.huma, ctx, http.StatusBadRequest, "the URL has an invalid escape, invalid UTF-8 or a control character")
		return
	}
	next(ctx)
}

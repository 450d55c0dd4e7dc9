package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/system"
)

// operation is a row of the table of operations, with what HTTP alone must know.
type operation struct {
	system.Operation
	// signed returns the identity of a sender without a token, whose signature the operation checks from the body. Nil means that a token
	// is required.
	signed func(name string) (identity, bool)
	// lenient means that the operation validates its body itself.
	lenient bool
}

// register adds an operation whose handler reads and returns the types of its row.
func register[I, O any](s *Server, row system.Op[I, O], serve func(context.Context, *I) (*body[O], error)) {
	add(s, row.Operation, serve)
}

// add adds an operation whose handler has its own types, for headers, statuses, files or streams.
func add[I, O any](s *Server, row system.Operation, serve func(context.Context, *I) (*O, error)) {
	addWith(s, operation{Operation: row}, serve)
}

func addWith[I, O any](s *Server, o operation, serve func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: o.Method, Path: o.Path, OperationID: o.Name, Summary: o.Summary, DefaultStatus: o.Status, MaxBodyBytes: o.MaxBody,
		BodyReadTimeout: callTimeout, Metadata: map[string]any{"operation": o}, Errors: []int{http.StatusBadRequest},
		SkipValidateBody: o.lenient || o.signed != nil, // the signature has not been checked yet
	}
	if o.Role != "" {
		op.Security = []map[string][]string{{"bearer": {}}}
		op.Extensions = map[string]any{"x-role": o.Role}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
			http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
	}
	huma.Register(s.huma, op, func(ctx context.Context, in *I) (*O, error) {
		if !o.Stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, callTimeout)
			defer cancel()
		}
		out, err := serve(ctx, in)
		return out, s.explain(ctx, o.Name, err)
	})
	s.calls[o.Name] = func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(I)
		if !ok {
			return nil, fmt.Errorf("%s takes %T, not %T", o.Name, typed, in)
		}
		out, err := serve(taking(ctx, o.Role), &typed)
		if err != nil {
			return nil, err
		}
		return reflect.ValueOf(out).Elem().FieldByName("Body").Interface(), nil
	}
}

// call runs an operation within this process. It takes In and returns Out of the operation's row.
type call func(ctx context.Context, in any) (any, error)

// Call runs an operation for the sender in ctx, as a request over HTTP would. in and out are of the types of its row; out is a pointer.
// It applies neither the limits nor the defaults of the request's fields.
func (s *Server) Call(ctx context.Context, row system.Operation, in, out any) error {
	run, ok := s.calls[row.Name]
	switch {
	case !ok:
		return fmt.Errorf("unknown API operation %s", row.Name)
	case row.Everywhere && accessOf(ctx).grants[config.AllProjects] < rank[row.Role]:
		return huma.Error403Forbidden("this requires the role " + row.Role + " in all projects")
	}
	answer, err := run(ctx, in)
	if err == nil {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(answer))
	}
	return err
}

// taking returns a context for an operation that requires a role.
func taking(ctx context.Context, role string) context.Context {
	a := accessOf(ctx)
	a.needs = rank[role]
	return context.WithValue(ctx, accessKey{}, a)
}

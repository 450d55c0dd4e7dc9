package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/system"
)

// request is an HTTP request for an operation.
type request struct {
	method, path string
	header       http.Header
	body         any    // nil means none
	subject      string // ID of what the operation is about; empty means no single thing
}

// requestOf makes a request from the fields of an operation's input, whose tags say which part of the request carries them. It leaves
// out parameters that have the zero value.
func requestOf(row system.Operation, in any) request {
	r, query := request{method: row.Method, path: row.Path, header: http.Header{}}, url.Values{}
	r.add(reflect.ValueOf(in), query)
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	return r
}

func (r *request) add(in reflect.Value, query url.Values) {
	for n := range in.NumField() {
		field, value := in.Type().Field(n), in.Field(n)
		path, named := field.Tag.Get("path"), field.Tag.Get("query")
		named, _, _ = strings.Cut(named, ",")
		switch {
		case field.Anonymous:
			r.add(value, query)
		case field.Name == "Body":
			r.body = value.Interface()
		case path != "":
			r.path = strings.ReplaceAll(r.path, "{"+path+"}", url.PathEscape(textOf(value)))
			if path == "id" || path == "agent" {
				r.subject = textOf(value)
			}
		case value.IsZero():
		case named != "" && value.Kind() == reflect.Slice:
			for m := range value.Len() {
				query.Add(named, textOf(value.Index(m)))
			}
		case named != "":
			query.Set(named, textOf(value))
		default:
			r.header.Set(field.Tag.Get("header"), textOf(value))
		}
	}
}

// textOf returns a parameter as the API reads it.
func textOf(v reflect.Value) string {
	if t, ok := v.Interface().(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v.Interface())
}

// do runs an operation.
func do[In, Out any](ctx context.Context, r system.Caller, row system.Op[In, Out], in In) (out Out, err error) {
	err = r.Call(ctx, row.Operation, in, &out)
	return out, err
}

// Call implements system.Caller.
func (r *transport) Call(ctx context.Context, row system.Operation, in, out any) error {
	return r.callWithin(ctx, timeout, row, in, out)
}

func (r *transport) callWithin(ctx context.Context, within time.Duration, row system.Operation, in, out any) error {
	to := requestOf(row, in)
	if _, raw := out.(*[]byte); raw {
		to.header.Set("Accept", "application/octet-stream")
	}
	err := r.exchange(ctx, within, to, out)
	if to.subject == "" {
		return err
	}
	return about(to.subject, err)
}

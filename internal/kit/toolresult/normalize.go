package toolresult

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Normalize converts a tool's return value to the contract.
//
// A valid Result stays unchanged. A map with string keys becomes a Result, and a Result that went through JSON is restored. Each
// field of a map ends up in one place. Fields without a meaning here are kept in Data, or in Error.Details if they were in the map
// "error". A null counts as an absent field, except that "error" without a status always makes an error, whatever its value is.
//
// Normalize returns an error for anything else, for an invalid Result, and for values that are nested more than 10,000 deep. The
// result is valid, and shares no mutable data with v.
func Normalize(v any) (Result, error) {
	if r, ok := asResult(v); ok {
		return copyValid(r)
	}
	fields, ok := asMap(v)
	if !ok {
		return Result{}, fmt.Errorf("tool result must be map or StandardToolResult, got %T", v)
	}
	fields, err := copyMap(fields, 0)
	if err != nil {
		return Result{}, err
	}
	return fromFields(fields), nil
}

func copyValid(r Result) (Result, error) {
	if err := r.Validate(); err != nil {
		return Result{}, err
	}
	return r.copy()
}

func asResult(v any) (Result, bool) {
	switch v := v.(type) {
	case Result:
		return v, true
	case *Result:
		if v != nil {
			return *v, true
		}
	}
	return Result{}, false
}

// asMap returns a map with string keys, whatever its named type.
func asMap(v any) (map[string]any, bool) {
	if fields, ok := v.(map[string]any); ok {
		return fields, true
	}
	m := reflect.ValueOf(v)
	if m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String {
		return nil, false
	}
	fields := make(map[string]any, m.Len())
	for key, value := range m.Seq2() {
		fields[key.String()] = value.Interface()
	}
	return fields, true
}

// fromFields makes a result from fields, which it removes from the map.
func fromFields(fields map[string]any) Result {
	r := Result{Status: takeStatus(fields)}
	if r.Status == StatusError {
		r.Error = takeError(fields)
	} else if fields["error"] == nil {
		delete(fields, "error")
	}
	r.Message, r.Signal = take[string](fields, "message"), take[string](fields, "signal")
	r.Data = rest(fields, "data")
	return r
}

// takeStatus leaves an unknown status in place: a pod's "Running" or HTTP's 200 say nothing about the call.
func takeStatus(fields map[string]any) Status {
	word, _ := fields["status"].(string)
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "success", "completed", "ok":
		delete(fields, "status")
		return StatusSuccess
	case "error", "failed", "failure":
		delete(fields, "status")
		return StatusError
	}
	if fields["status"] == nil {
		delete(fields, "status")
	}
	if _, failed := fields["error"]; failed {
		return StatusError
	}
	return StatusSuccess
}

// takeError leaves the message in place. It is also the error's message if the error has none.
func takeError(fields map[string]any) *Error {
	said := fields["error"]
	delete(fields, "error")
	message, _ := fields["message"].(string)
	about, isMap := said.(map[string]any)
	if !isMap {
		text, _ := said.(string)
		return &Error{
			Type:        cmp.Or(take[string](fields, "error_type"), typeTool),
			Message:     cmp.Or(text, message, printed(said), unknownError),
			Recoverable: take[bool](fields, "recoverable"),
		}
	}
	whole := printed(about)
	e := Error{Type: take[string](about, "type")}
	if e.Type == "" {
		e.Type = cmp.Or(take[string](about, "error_type"), typeTool)
	}
	e.Message = cmp.Or(take[string](about, "message"), message, whole, unknownError)
	e.Recoverable = take[bool](about, "recoverable")
	e.Details = rest(about, "details")
	return &e
}

// take removes a field from the map if it has the type, or is null.
func take[T any](fields map[string]any, key string) T {
	value, ok := fields[key].(T)
	if ok || fields[key] == nil {
		delete(fields, key)
	}
	return value
}

// rest returns the remaining fields, or those of the map at key if that is the only one.
func rest(fields map[string]any, key string) map[string]any {
	if fields[key] == nil {
		delete(fields, key)
	}
	if inner, ok := fields[key].(map[string]any); ok && len(fields) == 1 {
		fields = inner
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

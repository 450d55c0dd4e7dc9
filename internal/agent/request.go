package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Request starts an investigation, from our CLI, the API, the Temporal CLI and
// the Temporal UI alike. It holds no secrets.
type Request struct {
	// Chain or AlertType says which chain runs; one of them is enough.
	Chain     string `json:"chain,omitempty"`
	AlertType string `json:"alert_type,omitempty"`
	// Data is what is to be investigated: text, or any JSON, which is kept as it is.
	Data json.RawMessage `json:"data,omitempty"`
	// DataRef is the hash of data that was put into the store before, of any size.
	DataRef string `json:"data_ref,omitempty"`
	// AllowEmpty lets an investigation begin with nothing to investigate.
	AllowEmpty bool `json:"allow_empty,omitempty"`
	// Attach shows agents the beginning of data that is larger than the limit; they
	// read the rest in pages.
	Attach bool `json:"attach,omitempty"`
	// Provider replaces the model of every agent: an llm_providers entry or "provider:model".
	Provider string `json:"provider,omitempty"`
	// Runbook is text that replaces the chain's runbook.
	Runbook string `json:"runbook,omitempty"`
	// UseMock has the agents' mocks work in their place, where the configuration names any.
	UseMock bool `json:"use_mock,omitempty"`
	// By is who asks; empty = whom Temporal names. RequestedBy is another name of it.
	By          string `json:"by,omitempty"`
	RequestedBy string `json:"requested_by,omitempty"`
	Overrides
	Labels
	// Again starts an investigation though there is one of the same; that has no fingerprint.
	Again bool `json:"again,omitempty"`
}

// requestFields is what errors tell a user who got the input wrong.
const requestFields = `{"chain" or "alert_type", "data" (text or JSON), "data_ref", "allow_empty", "attach", ` +
	`"provider", "runbook", "use_mock", "requested_by", "mcp", "budgets", "project", "priority", "tenant", "session", ` +
	`"metadata", "fingerprint", "again"}`

// ParseRequest reads a workflow's arguments strictly: there must be one, an
// object, with known fields only. The error says what to write.
func ParseRequest(inputs ...[]byte) (Request, error) {
	var req Request
	if err := parseInput(&req, requestFields, inputs...); err != nil {
		return req, err
	}
	if req.By != "" && req.RequestedBy != "" && req.By != req.RequestedBy {
		return req, errors.New(`"by" and "requested_by" are two names of one thing, and differ: give one of them`)
	}
	req.By, req.RequestedBy = cmp.Or(req.By, req.RequestedBy), ""
	return req, req.Validate()
}

// parseInput reads the one JSON object that a workflow is started with, strictly;
// fields say what it may have.
func parseInput(req any, fields string, inputs ...[]byte) error {
	if len(inputs) > 1 {
		return fmt.Errorf("%d inputs were given: give one JSON object %s", len(inputs), fields)
	}
	if len(inputs) == 0 || len(bytes.TrimSpace(inputs[0])) == 0 || bytes.Equal(bytes.TrimSpace(inputs[0]), []byte("null")) {
		return fmt.Errorf("the input is missing: give one JSON object %s", fields)
	}
	dec := json.NewDecoder(bytes.NewReader(inputs[0]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(req); err != nil {
		return fmt.Errorf("the input is not a request (%s): give one JSON object %s", plain(err), fields)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the input holds more than one JSON value: give one JSON object %s", fields)
	}
	return nil
}

// plain says what is wrong with JSON without the names of our types.
func plain(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "it is of the JSON type " + wrong.Value
		}
		what := "a string"
		switch wrong.Type.Kind() {
		case reflect.Bool:
			what = "true or false"
		case reflect.Int:
			what = "a whole number"
		case reflect.Float64:
			what = "a number"
		case reflect.Slice:
			what = "a list"
		case reflect.Struct, reflect.Map:
			what = "an object"
		}
		field := strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "Labels."), "Overrides.")
		return fmt.Sprintf("%q is of the JSON type %s, not %s", field, wrong.Value, what)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// maxField bounds the short fields of a request, in bytes.
const maxField = 512

// field is a short field of a request.
type field struct{ name, value string }

// tooLong says which fields are.
func tooLong(fields ...field) (errs []error) {
	for _, f := range fields {
		if len(f.value) > maxField {
			errs = append(errs, fmt.Errorf("%q is longer than %d bytes", f.name, maxField))
		}
	}
	return errs
}

// Validate returns all that is wrong with the request itself; whether its chain
// exists is the configuration's to say.
func (r Request) Validate() error {
	var errs []error
	if len(r.Data) > 0 && r.DataRef != "" {
		errs = append(errs, errors.New(`"data" and "data_ref" exclude each other`))
	}
	if !utf8.Valid(r.Data) {
		errs = append(errs, errors.New(`"data" is not valid UTF-8`))
	}
	errs = append(errs, tooLong(
		field{"chain", r.Chain}, field{"alert_type", r.AlertType}, field{"data_ref", r.DataRef}, field{"provider", r.Provider})...)
	return errors.Join(slices.Concat(errs, []error{CheckBy(r.By)}, r.MCP.validate(), r.Budgets.validate(), r.Labels.validate())...)
}

// CheckData says what is wrong with the text of a request's data: a model is paid
// for every word of it, by each agent, with every call. limit is in bytes, 0 = none.
func (r Request) CheckData(text string, limit int) error {
	switch {
	case blank(text) && !r.AllowEmpty:
		return errors.New(`there is nothing to investigate: give "data", or "allow_empty": true for a chain that needs none`)
	case limit > 0 && len(text) > limit && !r.Attach:
		return fmt.Errorf(`"data" is %d bytes, and system.limits.data is %d: give the part that matters, `+
			`raise the limit in the configuration of the workers and of whoever starts it, `+
			`or give "attach": true (agents are shown the beginning and read the rest in pages)`, len(text), limit)
	}
	return nil
}

// blank reports whether a text, or the JSON that it is, holds nothing.
func blank(text string) bool {
	switch strings.Join(strings.Fields(text), "") {
	case "", "{}", "[]", "null", `""`:
		return true
	}
	return false
}

// DataText is the data as agents are shown it: a JSON string as its text,
// anything else as the JSON that was given.
func (r Request) DataText() string {
	var text string
	if json.Unmarshal(r.Data, &text) == nil {
		return text
	}
	return string(r.Data)
}

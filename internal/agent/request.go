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

// Request starts an investigation from our CLI, the API, the Temporal CLI or the Temporal UI. It holds no secrets.
type Request struct {
	// Chain or AlertType selects the chain; one of them is enough.
	Chain     string `json:"chain,omitempty"`
	AlertType string `json:"alert_type,omitempty"`
	// Data is the data to investigate: text, or any JSON, which is kept unchanged.
	Data json.RawMessage `json:"data,omitempty"`
	// DataRef is the hash of data of any size that was put into the store earlier.
	DataRef string `json:"data_ref,omitempty"`
	// AllowEmpty allows an investigation without data.
	AllowEmpty bool `json:"allow_empty,omitempty"`
	// Attach allows data above the size limit. Agents see the beginning and read the rest in pages.
	Attach bool `json:"attach,omitempty"`
	// Provider replaces the model of every agent: an llm_providers entry or "provider:model".
	Provider string `json:"provider,omitempty"`
	// Runbook replaces the chain's runbook. It is text, or the https URL of a text.
	Runbook string `json:"runbook,omitempty"`
	// UseMock runs the agents' mocks instead of the agents, if the configuration names any.
	UseMock bool `json:"use_mock,omitempty"`
	// By is the requesting user. Empty means the identity of the Temporal client. RequestedBy is another name for it.
	By          string `json:"by,omitempty"`
	RequestedBy string `json:"requested_by,omitempty"`
	Overrides
	Labels
	// Again starts an investigation even if there is a duplicate. Such an investigation has no fingerprint.
	Again bool `json:"again,omitempty"`
	// Trial is for experiments: nobody is notified or has to review it, its agents cannot look up earlier investigations, those of others
	// do not find it, and it is neither scored nor learned from.
	Trial bool `json:"trial,omitempty"`
	// Schedule is the schedule that starts the investigation; nil means none.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Fork continues another investigation with its chain and data. Nil means that the request is no fork.
	Fork *Fork `json:"fork,omitempty"`
}

// requestFields lists the fields in errors about invalid input.
const requestFields = `{"chain" or "alert_type", "data" (text or JSON), "data_ref", "allow_empty", "attach", ` +
	`"provider", "runbook", "use_mock", "requested_by", "mcp", "budgets", "project", "priority", "tenant", "session", ` +
	`"metadata", "fingerprint", "again", "trial", "schedule", "fork"}`

// ParseRequest parses a workflow's arguments strictly: there must be one, an object, with known fields only. The error
// says what to write.
func ParseRequest(inputs ...[]byte) (Request, error) {
	var req Request
	if err := parseInput(&req, requestFields, inputs...); err != nil {
		return req, err
	}
	if req.By != "" && req.RequestedBy != "" && req.By != req.RequestedBy {
		return req, errors.New(`"by" and "requested_by" are aliases but differ: set only one`)
	}
	req.By, req.RequestedBy = cmp.Or(req.By, req.RequestedBy), ""
	return req, req.Validate()
}

// parseInput parses strictly the only JSON object that a workflow is started with. fields describes the allowed fields
// in errors.
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

// plain describes an error in JSON without the names of Go types.
func plain(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "its JSON type is " + wrong.Value
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
		return fmt.Sprintf("%q has the JSON type %s; it must be %s", field, wrong.Value, what)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// maxField is the maximum length of the short fields of a request, in bytes.
const maxField = 512

// field is a short field of a request.
type field struct{ name, value string }

// tooLong returns an error for each field that is too long.
func tooLong(fields ...field) (errs []error) {
	for _, f := range fields {
		if len(f.value) > maxField {
			errs = append(errs, fmt.Errorf("%q is longer than %d bytes", f.name, maxField))
		}
	}
	return errs
}

// Validate returns all problems with the request itself. The configuration decides whether its chain exists.
func (r Request) Validate() error {
	var errs []error
	if len(r.Data) > 0 && r.DataRef != "" {
		errs = append(errs, errors.New(`"data" and "data_ref" are mutually exclusive: set only one`))
	}
	if !utf8.Valid(r.Data) {
		errs = append(errs, errors.New(`"data" is not valid UTF-8`))
	}
	if s := r.Schedule; s == nil && strings.HasPrefix(r.Session, sessionsOfSchedules) {
		errs = append(errs, fmt.Errorf(`"session" begins with %s: such sessions are for what schedules start`, sessionsOfSchedules))
	} else if s != nil {
		errs = append(errs, s.Validate()...)
		if r.Fingerprint != "" || r.Session != "" && r.Session != s.Session() {
			errs = append(errs, errors.New(`"fingerprint" and "session" cannot be set: a schedule repeats its request in a session of its own`))
		}
	}
	if r.Fork != nil {
		errs = append(errs, r.validateFork()...)
	}
	errs = append(errs, tooLong(
		field{"chain", r.Chain}, field{"alert_type", r.AlertType}, field{"data_ref", r.DataRef}, field{"provider", r.Provider})...)
	return errors.Join(slices.Concat(errs, []error{CheckBy(r.By)}, r.MCP.validate(), r.Budgets.validate(), r.Labels.validate())...)
}

// CheckData returns an error for invalid text of a request's data. It limits the size because every call of every
// agent pays for all of it. limit is in bytes, and zero means none.
func (r Request) CheckData(text string, limit int) error {
	switch {
	case blank(text) && !r.AllowEmpty:
		return errors.New(`nothing to investigate: set "data", or "allow_empty": true for a chain that needs none`)
	case limit > 0 && len(text) > limit && !r.Attach:
		return fmt.Errorf(`"data" is %d bytes, over the limit of %d (system.limits.data). Send only the relevant part, raise the limit in the `+
			`configuration of the workers and of the program that starts the investigation, or set "attach": true `+
			`(agents get the first part and read the rest in pages)`, len(text), limit)
	}
	return nil
}

// blank reports whether a text, or the JSON in it, is empty.
func blank(text string) bool {
	switch strings.Join(strings.Fields(text), "") {
	case "", "{}", "[]", "null", `""`:
		return true
	}
	return false
}

// DataText returns the data in the form that agents see: the text of a JSON string, and any other JSON unchanged.
func (r Request) DataText() string {
	var text string
	if json.Unmarshal(r.Data, &text) == nil {
		return text
	}
	return string(r.Data)
}

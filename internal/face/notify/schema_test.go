package notify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/inquest-dev/inquest/internal/face/notify"
)

var update = flag.Bool("update", false, "write docs/reference/notification.schema.json")

const schemaFile = "../../../docs/reference/notification.schema.json"

// TestSchema checks that the documented schema is the one of the type.
func TestSchema(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.For[notify.Event](nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Inquest notification, version 1"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(now, text) {
		t.Errorf("%s is out of date (%v): go test ./internal/face/notify -update", schemaFile, err)
	}
}

// checkSchema checks bodies against the documented schema.
func checkSchema(t *testing.T, bodies map[string][]byte) {
	t.Helper()
	s, err := validator.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for what, body := range bodies {
		value, err := validator.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", what, err, body)
		}
	}
}

package wire

import (
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// operation is an operation of the HTTP API. Its bodies are documents.
type operation struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Parameters lists the path's, query's and headers' parameters that it accepts, and Required those that it requires.
	Parameters []string `json:"parameters,omitempty"`
	Required   []string `json:"required,omitempty"`
	// Fields lists the required fields of its request body.
	Fields []string `json:"fields,omitempty"`
}

// openAPI returns the API's document, with the Go types of its schemas.
func openAPI(t *testing.T) *huma.OpenAPI {
	t.Helper()
	cfg, err := configuration.Load(configuration.Source{SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.At(filepath.Join(t.TempDir(), "inquest.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	server, err := api.New(t.Context(), api.Options{
		System: client.Over(nil, payload.Keys{}, st, workflows.TaskQueue, ""),
		Config: func() *configuration.Config { return cfg }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.OpenAPI()
}

func eachOperation(doc *huma.OpenAPI, each func(method, path string, op *huma.Operation)) {
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, one := range []struct {
			method string
			op     *huma.Operation
		}{{http.MethodGet, item.Get}, {http.MethodPost, item.Post}, {http.MethodPut, item.Put}, {http.MethodPatch, item.Patch},
			{http.MethodDelete, item.Delete}} {
			if one.op != nil {
				each(one.method, path, one.op)
			}
		}
	}
}

// addBodies adds the bodies of the API's operations.
func addBodies(t *testing.T, add func(string, reflect.Type)) {
	t.Helper()
	doc := openAPI(t)
	body := func(place string, content map[string]*huma.MediaType) {
		for _, kind := range slices.Sorted(maps.Keys(content)) {
			if schema := content[kind].Schema; schema != nil && schema.Ref != "" {
				add(place, doc.Components.Schemas.TypeFromRef(schema.Ref))
			}
		}
	}
	eachOperation(doc, func(_, _ string, op *huma.Operation) {
		if op.RequestBody != nil {
			body("API "+op.OperationID+": request", op.RequestBody.Content)
		}
		for status, response := range op.Responses {
			place := "API " + op.OperationID + ": " + status
			if status >= "400" {
				place = "API problem"
			}
			body(place, response.Content)
		}
	})
}

func operations(t *testing.T) (all []operation) {
	t.Helper()
	doc := openAPI(t)
	eachOperation(doc, func(method, path string, op *huma.Operation) {
		o := operation{ID: op.OperationID, Method: method, Path: path}
		for _, p := range op.Parameters {
			name := p.In + " " + p.Name
			if o.Parameters = append(o.Parameters, name); p.Required {
				o.Required = append(o.Required, name)
			}
		}
		if op.RequestBody != nil {
			if json := op.RequestBody.Content["application/json"]; json != nil && json.Schema.Ref != "" {
				o.Fields = doc.Components.Schemas.SchemaFromRef(json.Schema.Ref).Required
			}
		}
		all = append(all, o)
	})
	return all
}

// TestOperations finds every operation of every release in this build's API. It accepts the same parameters and requires no others.
func TestOperations(t *testing.T) {
	t.Parallel()
	now := map[string]operation{}
	for _, o := range operations(t) {
		now[o.Method+" "+o.Path] = o
	}
	releases(t, func(t *testing.T, dir string) {
		for _, old := range read[[]operation](t, filepath.Join(dir, "operations.json")) {
			at := old.Method + " " + old.Path
			o, ok := now[at]
			if !ok || o.ID != old.ID {
				t.Errorf("%s: this build has %+v in place of %s", at, o, old.ID)
				continue
			}
			within(t, at+": a parameter is lost", old.Parameters, o.Parameters)
			within(t, at+": a new required parameter", o.Required, old.Required)
			within(t, at+": a new required field", o.Fields, old.Fields)
		}
	})
}

// within reports the elements that are not in all.
func within(t *testing.T, problem string, some, all []string) {
	t.Helper()
	for _, one := range some {
		if !slices.Contains(all, one) {
			t.Errorf("%s: %s", problem, one)
		}
	}
}

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// bodies holds the request bodies of operations that need one.
var bodies = map[string]string{
	"start-investigation": `{"chain":"shop","data":"x"}`,
	"check-request":       `{"chain":"shop","data":"x"}`,
	"guide":               `{"text":"look"}`,
	"decide":              `{"call_id":"c","approved":true}`,
	"begin-conversation":  `{"agent":"Memo","text":"hello"}`,
	"say":                 `{"text":"hello"}`,
	"receive-alerts":      `{"alerts":[{"status":"firing","labels":{"alertname":"Slow"}}]}`,
	"create-agent":        `{"name":"New","config":{"default_model":"scripted:x"}}`,
	"change-agent":        `{"config":{"default_model":"scripted:x"}}`,
	"copy-agent":          `{"new_name":"Other"}`,
	"run-agent":           `{"data":"x"}`,
	"edit-learning":       `{"confidence":0.5}`,
	"withdraw-learnings":  `{"reason":"wrong"}`,
	"rate":                `{"rating":"accurate"}`,
	"review":              `{"action":"claim"}`,
	"create-schedule":     `{"chain":"shop","data":"x","schedule":{"name":"nightly","every":"1h"}}`,
	"change-schedule":     `{"action":"pause"}`,
	"write-memory-block":  `{"value":"the pool has ten"}`,
}

// names holds the things that paths name. They belong to the project payments, unless they belong to none.
var names = map[string]string{"name": "shop", "agent": "Memo", "n": "1", "seq": "1", "label": "facts", "entry": "1", "learning": "L1"}

// operations runs a test for every operation in the document, so that none is forgotten.
func operations(t *testing.T, doc *huma.OpenAPI, each func(t *testing.T, method, path string, op *huma.Operation)) {
	t.Helper()
	n := 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch,
			"DELETE": item.Delete} {
			if op == nil {
				continue
			}
			n++
			t.Run(op.OperationID, func(t *testing.T) { each(t, method, path, op) })
		}
	}
	if n < 35 {
		t.Errorf("the document has %d operations", n)
	}
}

// The document has exactly the operations of the table.
func TestEveryRowIsServed(t *testing.T) {
	t.Parallel()
	want, got := map[string]string{}, map[string]string{}
	for _, row := range system.Operations() {
		want[row.Name] = row.Method + " " + row.Path
	}
	operations(t, newWorld(t).api.OpenAPI(), func(_ *testing.T, method, path string, op *huma.Operation) {
		got[op.OperationID] = method + " " + path
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-table +served):\n%s", diff)
	}
}

// Every operation requires a token with its role. It shows a project's things only to members of the project, and never reveals to others
// that they exist.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	investigation, talk := w.investigation("ours", "payments"), w.conversation("talk", "payments")
	w.remember("Memo")
	open := []string{"is-alive", "is-ready"} // for probes, which have no token
	ranks := []string{"viewer", "operator", "approver", "admin"}
	operations(t, w.api.OpenAPI(), func(t *testing.T, method, path string, op *huma.Operation) {
		w := *w
		w.T = t
		at := func(id string) string {
			out := path
			for name, value := range names {
				out = strings.ReplaceAll(out, "{"+name+"}", value)
			}
			return strings.ReplaceAll(out, "{id}", id)
		}
		id := investigation
		if strings.Contains(path, "/conversations/") {
			id = talk
		}
		var in any
		if op.RequestBody != nil {
			in = "{}"
			if text, ok := bodies[op.OperationID]; ok {
				in = text
			}
		}
		if slices.Contains(open, op.OperationID) {
			if got := w.call("", method, at(id), in); got.status != http.StatusOK || len(op.Security) > 0 {
				t.Errorf("without a token: %d %s", got.status, got.body)
			}
			return
		}
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + secret("root"), secret("root")} {
			got := w.call("", method, at(id), in, "Authorization", header)
			if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("with %q: %d %s", header, got.status, got.body)
			}
		}
		o := op.Metadata["operation"].(operation)
		if rank[o.Role] == 0 {
			t.Fatalf("it takes the role %q", o.Role)
		}
		for _, role := range ranks {
			got := w.call(role, method, at(id), in)
			refused := rank[role] < rank[o.Role] || o.Everywhere
			if (got.status == http.StatusForbidden) != refused || got.status == http.StatusUnauthorized {
				t.Errorf("as %s: %d %s", role, got.status, got.body)
			}
			problemOf(t, got)
		}
		if got := w.call("root", method, at(id), in); got.status == http.StatusForbidden || got.status == http.StatusUnauthorized {
			t.Errorf("as root: %d %s", got.status, got.body)
		}
		if strings.Contains(path, "{id}") {
			theirs, none := w.call("stranger", method, at(id), in), w.call("stranger", method, at("nothing"), in)
			if theirs.status != http.StatusNotFound || theirs.body != none.body || theirs.status != none.status {
				t.Errorf("in another project: %d %s; what is not there: %d %s", theirs.status, theirs.body, none.status, none.body)
			}
		}
		got := w.call("stranger", method, at(id), in)
		if strings.Contains(got.body, "payments") || strings.Contains(got.body, "ours") || strings.Contains(got.body, "talk") {
			t.Errorf("a stranger is told %s", got.body)
		}
	})
}

// problemOf checks that a failed request returned a problem.
func problemOf(t *testing.T, got answer) {
	t.Helper()
	if got.status < 400 {
		return
	}
	var p struct {
		Title, Detail string
		Status        int
	}
	if got.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal([]byte(got.body), &p) != nil ||
		p.Status != got.status || p.Title == "" {
		t.Errorf("%d is no problem: %s %s", got.status, got.header.Get("Content-Type"), got.body)
	}
	if got.status == http.StatusInternalServerError {
		t.Errorf("%s", got.body)
	}
}

// Without configured tokens, the API does not authenticate and serves only this host.
func TestOpen(t *testing.T) {
	t.Parallel()
	w := open(t, "system: {}\n")
	if got := w.call("", "GET", "/api/v1/config", nil); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	for address, open := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false,
		":0": false, "[::]:0": false} {
		listener, err := w.api.Listen(address)
		if (err == ErrOpen) == open {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = listener.Close()
		}
	}
	guarded := newWorld(t)
	listener, err := guarded.api.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

// Pages of other origins are refused, and so are requests under an unknown host name.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	w := open(t, "system: {http: {hosts: [inquest.example.com], "+rootToken()+"}}\n")
	for name, header := range map[string][]string{
		"origin": {"Origin", "http://evil.example"}, "null": {"Origin", "null"}, "no page": nil,
		"preflight": {"Access-Control-Request-Method", "POST"},
	} {
		got := w.call("root", "GET", "/api/v1/chains", nil, header...)
		if (got.status == http.StatusForbidden) != (name == "origin" || name == "null") || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	for host, served := range map[string]bool{"inquest.example.com": true, "evil.example": false} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/openapi.json", nil)
		r.Host = host
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if (response.StatusCode == http.StatusOK) != served {
			t.Errorf("%s: %d", host, response.StatusCode)
		}
	}
}

// Limits apply before a request has any effect.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", maxBody))
	w.investigation("a", "payments")
	for name, got := range map[string]answer{
		"too large":     w.call("operator", "POST", "/api/v1/investigations/a/guide", large),
		"no JSON":       w.call("operator", "POST", "/api/v1/investigations/a/guide", "{"),
		"unknown field": w.call("operator", "POST", "/api/v1/investigations/a/guide", `{"text":"x","by":"boss"}`),
		"unknown query": w.call("viewer", "GET", "/api/v1/investigations?unknown=1", nil),
		"limit":         w.call("viewer", "GET", "/api/v1/investigations?limit=100000", nil),
		"cursor":        w.call("viewer", "GET", "/api/v1/investigations?cursor=x", nil),
		"NUL":           w.call("viewer", "GET", "/api/v1/investigations?q=%00", nil),
		"no UTF-8":      w.call("viewer", "GET", "/api/v1/investigations/%ff", nil),
		"no page":       w.call("viewer", "GET", "/api/v2", nil),
		"no method":     w.call("viewer", "PATCH", "/api/v1/investigations", nil),
	} {
		if got.status < 400 || got.status >= 500 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		problemOf(t, got)
	}
}

// A text over its limit is refused, and the error names the limit.
func TestTextsOverTheirLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for field, limit := range map[string]int{"ask": workflows.MaxReason, "reason": workflows.MaxReason} {
		body := map[string]any{"call_id": "c", field: strings.Repeat("é", limit)}
		if got := w.call("approver", "POST", "/api/v1/investigations/a/decide", body); got.status != 404 {
			t.Errorf("%s at its limit: %d %s", field, got.status, got.body)
		}
		body[field] = strings.Repeat("é", limit+1)
		got := w.call("approver", "POST", "/api/v1/investigations/a/decide", body)
		if got.status != 422 || !strings.Contains(got.body, strconv.Itoa(limit)) || !strings.Contains(got.body, "body."+field) {
			t.Errorf("%s over its limit: %d %s", field, got.status, got.body)
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	who := identity{name: "ann", grants: map[string]int{}}
	who.grant(config.Grant{Role: config.RoleViewer, Projects: []string{"*"}})
	who.grant(config.Grant{Role: config.RoleApprover, Projects: []string{"payments"}})
	who.grant(config.Grant{}) // of the default project
	for project, want := range map[string]int{"payments": 3, "search": 1, "default": 1} {
		if got := who.rank(project); got != want {
			t.Errorf("%s: %d", project, got)
		}
	}
}

// The log says why requests failed.
func TestExplainUpdate(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := base{&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	err := s.explain(t.Context(), "decide", &system.UpdateError{Err: errors.New("the wire is cut")})
	if !strings.Contains(log.String(), "the wire is cut") || strings.Contains(err.Error(), "wire") {
		t.Errorf("%v; the log says %s", err, log.String())
	}
}

package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// lateErrors are errors of a decision or an answer, and whether it came too late.
var lateErrors = map[string]struct {
	err  error
	late bool
}{
	"decided":  {refusedUpdate(&system.LateError{Reason: "it is denied"}), true},
	"over":     {&system.UpdateError{Kind: system.ErrTooLate, Err: errors.New("x")}, true},
	"ended":    {&client.EndedError{ID: "w:1"}, true},
	"gone":     {serviceerror.NewNotFound("x"), true},
	"unknown":  {&client.NotWaitingError{Call: "c", ID: "w:1"}, true},
	"approved": {refusedUpdate(errors.New("ada has approved it already: nobody else may")), false},
	"pending":  {&system.UpdateError{Kind: system.ErrPending, Err: errors.New("x")}, false},
	"invalid":  {&system.InputError{Err: errors.New("no call is given: it comes too late")}, false},
}

func refusedUpdate(reason error) error {
	return &system.UpdateError{Handle: system.HandleOf("w", true), Kind: system.ErrRefused, Err: reason}
}

// serveLateErrors answers each request with the error that the last part of its path names.
func serveLateErrors(t *testing.T) string {
	t.Helper()
	s := base{&Options{Logger: slog.New(slog.DiscardHandler)}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wrong := s.explain(r.Context(), "decide", lateErrors[path.Base(path.Dir(r.URL.Path))].err)
		var p *huma.ErrorModel
		if !errors.As(wrong, &p) {
			t.Errorf("%s: %v", r.URL.Path, wrong)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The web page recognises a late decision by the type of the problem, not by its text.
func TestPageKnowsLateDecisions(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(lateErrors))
	script, err := filepath.Abs("../page/assets/api.js")
	if err != nil {
		t.Fatal(err)
	}
	out := runNode(t, t.TempDir(), "--input-type=module", "-e", `
		const [script, url, names] = process.argv.slice(1);
		const fetched = fetch;
		globalThis.fetch = (to, options) => fetched(url + new URL(to).pathname, options);
		globalThis.sessionStorage = { getItem: () => null, setItem: () => {} };
		const { call, investigation, isLate } = await import("file://" + script);
		const late = {};
		for (const name of names.split(",")) {
			await call("POST", investigation(name, "/decide"), {}).catch((e) => (late[name] = isLate(e)));
		}
		console.log(JSON.stringify(late));`, script, serveLateErrors(t), strings.Join(names, ","))
	var late map[string]bool
	if err := json.Unmarshal([]byte(out), &late); err != nil || len(late) != len(lateErrors) {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range lateErrors {
		if late[name] != want.late {
			t.Errorf("%s: late %t, want %t", name, late[name], want.late)
		}
	}
}

// Behind the API, a late decision is the same error as in a program that connects to Temporal.
func TestRemoteKnowsLateDecisions(t *testing.T) {
	t.Parallel()
	r := remote.New(serveLateErrors(t), "", false)
	_, err := r.Decide(t.Context(), "decided", workflows.Decide{CallID: "c"})
	var refused *system.UpdateError
	if !errors.As(err, &refused) || refused.Kind != system.ErrRefused || refused.Err.Error() != "it is denied" ||
		!errors.Is(err, system.ErrTooLate) {
		t.Errorf("%v", err)
	}
	_, err = r.Decide(t.Context(), "over", workflows.Decide{CallID: "c"})
	if !errors.As(err, &refused) || refused.Kind != system.ErrTooLate {
		t.Errorf("%v", err)
	}
}

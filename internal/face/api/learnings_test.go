package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// teach makes an investigation of a project that taught some texts. Another investigation got the first one.
func (w *world) teach(name, project string, texts ...string) (id string) {
	w.Helper()
	id = w.investigation(name, project)
	taught := learning.Taught{Investigation: id, At: time.Now()}
	for _, text := range texts {
		taught.New = append(taught.New, learning.Learning{
			Kind: learning.Semantic, Polarity: learning.Neutral, Text: text, Confidence: learning.Initial, Rows: []int64{1}, Chain: "shop",
		})
	}
	out, err := w.store.Learn(w.Context(), project, taught)
	if err == nil {
		err = w.store.NoteReads(w.Context(), project, []learning.Read{
			{Learning: out.Created[0], Investigation: "reader of " + project, How: learning.Shown, At: time.Now()},
		})
	}
	if err != nil {
		w.Fatal(err)
	}
	return id
}

// Learnings are read, changed and deleted by those who may, and the audit trail of the investigation that taught them has each change.
func TestLearnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.teach("ours", "payments", "The pool has 20 connections", "Kafka lags on Mondays", "Ignore the warnings of node 7")
	const of = "/api/v1/learnings"
	list := func(query string) (names []string, next string) {
		page := read[system.Page[system.Learning]](w, "viewer", "GET", of+query, nil)
		for _, one := range page.Items {
			names = append(names, one.ID)
		}
		return names, page.Next
	}
	all, _ := list("")
	found, _ := list("?q=pool+kafka")
	from, _ := list("?investigation=nothing")
	first, next := list("?limit=2")
	second, end := list("?limit=2&cursor=" + next)
	if got := fmt.Sprint(all, found, from, first, second, end); got != "[L3 L2 L1] [L2 L1] [] [L3 L2] [L1]" {
		t.Errorf("listed %s", got)
	}
	one := read[system.LearningWhole](w, "viewer", "GET", of+"/L1", nil)
	if one.Investigation != id || one.Project != "payments" || one.Text != "The pool has 20 connections" || len(one.Reads) != 1 ||
		one.Reads[0].Investigation != "reader of payments" || one.Confidence < 0.69 || !slices.Equal(one.Rows, []int64{1}) {
		t.Errorf("%+v", one)
	}
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", of + "/L1", `{"text":"The pool has 40 connections","confidence":0.9,"polarity":"positive"}`, http.StatusOK},
		{"PUT", of + "/L1", `{"text":" "}`, http.StatusUnprocessableEntity},
		{"PUT", of + "/L1", `{"kind":"rumour"}`, http.StatusUnprocessableEntity},
		{"PUT", of + "/L9", `{"text":"x"}`, http.StatusNotFound},
		{"GET", of + "/L0", "", http.StatusUnprocessableEntity},
		{"GET", of + "?cursor=x", "", http.StatusUnprocessableEntity},
		{"DELETE", of + "/L2", "", http.StatusOK},
		{"DELETE", of + "/L2", "", http.StatusNotFound},
		{"DELETE", of + "/4294967297", "", http.StatusUnprocessableEntity}, // would be a learning of another project
	} {
		var in any
		if tt.body != "" {
			in = tt.body
		}
		if got := w.call("operator", tt.method, tt.path, in); got.status != tt.want {
			t.Errorf("%s %s %s: %d %s", tt.method, tt.path, tt.body, got.status, got.body)
		}
	}
	edited := read[system.LearningWhole](w, "viewer", "GET", of+"/L1", nil)
	if edited.Text != "The pool has 40 connections" || edited.EditedBy != "operator" || edited.Confidence < 0.89 || edited.Kind != "semantic" {
		t.Errorf("edited: %+v", edited)
	}
	w.learningActs(id, "learning-changed L1 operator", "learning-deleted L2 operator")
}

// learningActs compares the acts about learnings in the audit chain of an investigation.
func (w *world) learningActs(id string, want ...string) {
	w.Helper()
	var got []string
	err := w.store.Acts(w.Context(), record.ActFilter{Investigation: id}, func(a audit.Act) error {
		if strings.HasPrefix(string(a.What), "learning-") {
			got = append(got, string(a.What)+" "+a.Call+" "+a.Who)
		}
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		w.Errorf("acts %q, %v", got, err)
	}
}

// Withdrawing an investigation's learnings lists them and their recipients, and no query finds them again.
func TestWithdrawLearnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrong := w.teach("wrong", "payments", "The pool has 20 connections", "Restart the pool")
	w.teach("right", "payments", "The pool is watched by the on-call engineer")
	r := remote.New(w.url, secret("operator"), true)
	before, err := r.Taught(t.Context(), system.TaughtIn{ByID: system.ByID{ID: "wrong"}})
	if err != nil || len(before.Learnings) != 2 || before.Learnings[0].Withdrawn != nil || len(before.Reads) != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	in := system.WithdrawIn{ByID: system.ByID{ID: "wrong"}, Body: system.WithdrawBody{Reason: "it was the network"}}
	out, err := r.WithdrawLearnings(t.Context(), in, agent.Identity{Name: "the boss"})
	if err != nil || out.Investigation != wrong || len(out.Learnings) != 2 || len(out.Reads) != 1 ||
		out.Reads[0] != before.Reads[0] || out.Reads[0].Investigation != "reader of payments" {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, one := range out.Learnings {
		if one.Withdrawn == nil || one.Withdrawn.By != "operator" || one.Withdrawn.Why != "it was the network" || one.Withdrawn.At.IsZero() {
			t.Errorf("%+v", one)
		}
	}
	again, err := r.WithdrawLearnings(t.Context(), in, agent.Identity{})
	if err != nil || !again.Learnings[0].Withdrawn.At.Equal(out.Learnings[0].Withdrawn.At) {
		t.Errorf("%+v, %v", again, err)
	}
	found, err := w.store.FindLearnings(t.Context(), learning.Query{Project: "payments", Text: "pool", Limit: 5})
	if err != nil || len(found) != 1 || found[0].ID != 3 {
		t.Errorf("found %+v, %v", found, err)
	}
	used, err := w.store.LearningsInUse(t.Context(), "payments", []int64{1, 2, 3, 4})
	if err != nil || !slices.Equal(used, []int64{3}) {
		t.Errorf("in use: %v, %v", used, err)
	}
	w.learningActs(wrong, "learning-withdrawn L1 operator", "learning-withdrawn L2 operator")
}

// No operation and no MCP tool shows or changes the learnings of another project.
func TestLearningsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.teach("ours", "payments", "The pool of payments has 20 connections", "Payments are late")
	theirs := w.teach("theirs", "search", "The index of search is small")
	for _, path := range []string{
		"/learnings", "/learnings?withdrawn=true", "/learnings?q=pool+payments", "/learnings?investigation=" + ours, "/learnings/L1",
		"/learnings/L2", "/learnings?project=payments", "/learnings/L1?project=payments", "/investigations/ours/learnings",
	} {
		got := w.call("stranger", "GET", "/api/v1"+path, nil)
		if strings.Contains(got.body, "ayments") {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	for path, method := range map[string]string{
		"/learnings/L2": "DELETE", "/learnings/L1?project=payments": "DELETE", "/investigations/ours/learnings/withdraw": "POST",
	} {
		if got := w.call("stranger", method, "/api/v1"+path, map[string]any{}); got.status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
	}
	if got := w.call("stranger", "PUT", "/api/v1/learnings/L2", `{"text":"mine"}`); got.status != http.StatusNotFound {
		t.Errorf("PUT: %d %s", got.status, got.body)
	}
	for token, want := range map[string]int{"viewer": 2, "stranger": 1} {
		out, err := use[system.Page[system.Learning]](t, w.mcp(token, nil), "list_learnings", map[string]any{"q": "pool payments index"})
		if err != nil || len(out.Items) != want {
			t.Errorf("MCP as %s: %+v, %v", token, out, err)
		}
	}
	in := map[string]any{"project": "payments"}
	if _, err := use[system.Page[system.Learning]](t, w.mcp("stranger", nil), "list_learnings", in); err == nil {
		t.Error("MCP shows a stranger the learnings of payments")
	}
	left := read[system.Taught](w, "viewer", "GET", "/api/v1/investigations/ours/learnings", nil)
	if len(left.Learnings) != 2 || left.Learnings[0].Withdrawn != nil {
		t.Errorf("left: %+v", left)
	}
	w.learningActs(ours)
	w.learningActs(theirs)
}

// Every read of a learning is on one page: rating and withdrawing return the first, and reading the learnings with its cursor the others.
func TestPagesOfReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.teach("wrong", "payments", "The pool has 20 connections")
	reads, start := make([]learning.Read, 2*learning.MaxReads+100), time.Now()
	for n := range reads {
		at := start.Add(time.Duration(n/300+1) * time.Second)
		reads[n] = learning.Read{Learning: 1, Investigation: fmt.Sprintf("reader %04d", n), How: learning.Shown, At: at}
	}
	if err := w.store.NoteReads(t.Context(), "payments", reads); err != nil {
		t.Fatal(err)
	}
	want := []string{"reader of payments"}
	for _, r := range reads {
		want = append(want, r.Investigation)
	}
	const rating, withdraw = "/api/v1/investigations/wrong/rating", "/api/v1/investigations/wrong/learnings/withdraw"
	rated := read[system.Rated](w, "operator", "POST", rating, `{"rating":"inaccurate"}`)
	withdrawn := read[system.Taught](w, "operator", "POST", withdraw, `{}`)
	byTool, err := use[ratedByTool](t, w.mcp("operator", nil), "rate_investigation", map[string]any{"id": "wrong", "rating": "inaccurate"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/investigations/wrong/learnings", "/api/v1/learnings/L1"} {
		first := read[system.LearningReads](w, "viewer", "GET", path, nil)
		for what, other := range map[string]system.LearningReads{
			"rating": rated.LearningReads, "withdrawal": withdrawn.LearningReads, "rating by MCP": byTool.LearningReads,
		} {
			if len(other.Reads) != learning.MaxReads || !slices.Equal(other.Reads, first.Reads) || other.Next != first.Next || !other.MoreReads {
				t.Errorf("the %s returned %d reads, more %t, next %q", what, len(other.Reads), other.MoreReads, other.Next)
			}
		}
		var got []string
		for page := first; ; page = read[system.LearningReads](w, "viewer", "GET", path+"?cursor="+page.Next, nil) {
			var some []string
			for _, r := range page.Reads {
				some = append(some, r.Investigation)
			}
			if got = append(some, got...); page.Next == "" || len(some) == 0 {
				if page.MoreReads || page.Next != "" {
					t.Errorf("%s: the last page: more %t, next %q", path, page.MoreReads, page.Next)
				}
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d reads, want %d", path, len(got), len(want))
		}
		nul := base64.RawURLEncoding.EncodeToString([]byte(`{"Investigation":"a\u0000"}`)) // which PostgreSQL refuses in a text
		for _, cursor := range []string{"x", nul} {
			if got := w.call("viewer", "GET", path+"?cursor="+cursor, nil); got.status != http.StatusUnprocessableEntity {
				t.Errorf("an invalid cursor: %d %s", got.status, got.body)
			}
		}
		if got := w.call("stranger", "GET", path+"?cursor="+first.Next, nil); got.status != http.StatusNotFound {
			t.Errorf("to another project: %d %s", got.status, got.body)
		}
	}
}

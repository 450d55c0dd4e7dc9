package api

import (
	"reflect"
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

// Rating an investigation inaccurate lists what it taught, deleted learnings included, who got that, and what no longer counts.
func TestRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.teach("right", "payments", "Kafka lags on Mondays")
	wrong := w.teach("wrong", "payments", "The pool has 20 connections", "Restart the pool")
	if got := w.call("operator", "DELETE", "/api/v1/learnings/L2", nil); got.status != 200 {
		t.Fatal(got)
	}
	later := w.investigation("later", "payments")
	confirmed := learning.Taught{Investigation: later, At: time.Now(), Confirmed: []int64{1}}
	if _, err := w.store.Learn(t.Context(), "payments", confirmed); err != nil {
		t.Fatal(err)
	}
	r := remote.New(w.url, secret("operator"), true)
	rate := func(id string, b system.RateBody) system.Rated {
		t.Helper()
		out, err := r.Rate(t.Context(), system.RateIn{ByID: system.ByID{ID: id}, Body: b}, agent.Identity{Name: "the boss"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := rate("wrong", system.RateBody{Rating: record.Inaccurate, Note: "it was the network; password=hunter2hunter2", Withdraw: true})
	deleted := []string{"L2"}
	if out.Investigation != wrong || len(out.Learnings) != 1 || out.Learnings[0].Withdrawn == nil || !slices.Equal(out.Deleted, deleted) ||
		len(out.Reads) != 1 || out.Reads[0].Learning != "L2" || out.Reads[0].Investigation != "reader of payments" {
		t.Errorf("%+v", out)
	}
	for _, note := range []string{out.Ratings[0].Note, out.Learnings[0].Withdrawn.Why} {
		if !strings.Contains(note, "network") || strings.Contains(note, "hunter2") || len(out.Ratings) != 1 || out.Ratings[0].By != "operator" {
			t.Errorf("ratings %+v, note %q", out.Ratings, note)
		}
	}
	judged := rate("later", system.RateBody{Rating: record.Inaccurate}).Judged
	if !slices.Equal(judged, []system.Judged{{Learning: "L1", Confirms: true, Undone: true}}) {
		t.Errorf("judged %+v", judged)
	}
	whole := read[system.Whole](w, "viewer", "GET", "/api/v1/investigations/wrong", nil)
	status := read[system.Standing](w, "viewer", "GET", "/api/v1/investigations/wrong/status", nil)
	if len(whole.Ratings) != 1 || !reflect.DeepEqual(whole.Ratings, out.Ratings) || len(status.Ratings) != 1 {
		t.Errorf("the record has %+v, the status %+v", whole.Ratings, status.Ratings)
	}
	for _, body := range []string{`{"rating":"great"}`, `{}`, `{"rating":"partly","withdraw":true}`} {
		if got := w.call("operator", "POST", "/api/v1/investigations/wrong/rating", body); got.status != 422 {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	mcp, err := use[ratedByTool](t, w.mcp("operator", nil), "rate_investigation", map[string]any{"id": "wrong", "rating": "partly"})
	if err != nil || len(mcp.Ratings) != 1 || mcp.Ratings[0].Rating != record.Partly || mcp.Notice == "" {
		t.Errorf("MCP: %+v, %v", mcp, err)
	}
	edited := read[system.Learning](w, "operator", "PUT", "/api/v1/learnings/L1", `{"text":"Kafka wants password=hunter2hunter2"}`)
	if strings.Contains(edited.Text, "hunter2") || !strings.Contains(edited.Text, "Kafka") {
		t.Errorf("an edited text is not masked: %s", edited.Text)
	}
	var acts []string
	err = w.store.Acts(t.Context(), record.ActFilter{Investigation: wrong}, func(a audit.Act) error {
		acts = append(acts, strings.TrimSpace(string(a.What)+" "+a.Call)+" "+a.Channel)
		if strings.Contains(string(a.Detail), "hunter2") {
			t.Errorf("act %s", a.Detail)
		}
		return nil
	})
	acts = slices.DeleteFunc(acts, func(act string) bool { return !strings.HasPrefix(act, "rated") })
	if err != nil || !slices.Equal(acts, []string{"rated http", "rated mcp"}) {
		t.Errorf("acts %q, %v", acts, err)
	}
}

type ratedByTool struct {
	system.Rated
	Notice string `json:"notice"`
}

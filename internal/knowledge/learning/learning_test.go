package learning_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
)

var (
	now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	day = 24 * time.Hour
)

func TestDecayed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		confidence float64
		age        time.Duration
		want       float64
	}{
		"new":                  {0.7, 0, 0.7},
		"half a year":          {0.8, 180 * day, 0.2},
		"a half-life":          {0.8, 90 * day, 0.4},
		"a clock that is slow": {0.8, -day, 0.8},
		"none":                 {0, 90 * day, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := learning.Decayed(tc.confidence, tc.age); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestConfidence checks that a confirmation never lowers the current confidence, a contradiction always lowers it, both stay
// within the bounds, and time only lowers it.
func TestConfidence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := learning.Learning{Confidence: rapid.Float64Range(0.01, 1).Draw(t, "confidence"), Changed: now}
		at := now.Add(time.Duration(rapid.IntRange(-1, 1000).Draw(t, "days")) * day)
		before := learning.Current(l, at)
		up, down := learning.Confirm(l, at), learning.Contradict(l, at)
		if got := learning.Current(up, at); got < before || got > 1 {
			t.Errorf("confirmed: %v after %v", got, before)
		}
		if got := learning.Current(down, at); got >= before || got < 0 {
			t.Errorf("contradicted: %v after %v", got, before)
		}
		if learning.Current(up, at.Add(day)) >= learning.Current(up, at) && !at.Before(now) {
			t.Error("the confidence does not decay")
		}
		if up.Confirmed != 1 || down.Contradicted != 1 || up.Changed.Before(l.Changed) {
			t.Errorf("counts: %+v, %+v", up, down)
		}
	})
}

// TestReplay checks that a replay of all judgements gives the same learning, and that a judgement left out has no effect.
func TestReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := learning.Learning{Confidence: 0.7, Changed: now, Created: now, Basis: learning.Basis{Confidence: 0.7, At: now}}
		all, without := start, start
		var judgements, valid []learning.Judgement
		for n := range rapid.IntRange(0, 6).Draw(t, "judgements") {
			j := learning.Judgement{At: now.Add(time.Duration(n) * day), Confirms: rapid.Bool().Draw(t, "confirms")}
			judgements, all = append(judgements, j), learning.Judge(all, j)
			if rapid.Bool().Draw(t, "valid") {
				valid, without = append(valid, j), learning.Judge(without, j)
			}
		}
		if diff := cmp.Diff(all, learning.Replay(all, judgements)); diff != "" {
			t.Errorf("all (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(without, learning.Replay(all, valid)); diff != "" {
			t.Errorf("without some (-want +got):\n%s", diff)
		}
		edited, err := learning.Change{Kind: new(learning.Semantic), Polarity: new(learning.Neutral), Text: new("x")}.
			Apply(all, "ana", now.Add(30*day))
		after := learning.Replay(edited, valid)
		if err != nil || after.Confidence != edited.Confidence || after.Confirmed+after.Contradicted != len(valid) {
			t.Errorf("an edit is not the basis: %+v, %v", after, err)
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	one := func(kind, polarity, text, rows string) string {
		return fmt.Sprintf(`{"kind":%q,"polarity":%q,"text":%q,"rows":[%s]}`, kind, polarity, text, rows)
	}
	good := one("semantic", "neutral", "The nightly batch causes 200 errors an hour.", "3, 3, 1")
	whole := func(fresh, confirmed, contradicted string) string {
		return `{"new":[` + fresh + `],"confirmed":[` + confirmed + `],"contradicted":[` + contradicted + `]}`
	}
	for name, tc := range map[string]struct {
		text, problem string
		want          learning.Reflection
	}{
		"nothing": {text: whole("", "", "")},
		"everything": {text: whole(good, `"L1","l1"`, `"2"`), want: learning.Reflection{
			New:       []learning.New{{learning.Semantic, learning.Neutral, "The nightly batch causes 200 errors an hour.", []int64{1, 3}}},
			Confirmed: []int64{1}, Contradicted: []int64{2},
		}},
		"a repetition": {text: whole(good+","+one("episodic", "positive", "the nightly  BATCH causes 200 errors an hour", "9"), "", ""),
			want: learning.Reflection{New: []learning.New{
				{learning.Semantic, learning.Neutral, "The nightly batch causes 200 errors an hour.", []int64{1, 3}},
			}}},
		"another kind":     {text: whole(one("gossip", "neutral", "x", "1"), "", ""), problem: `new[0]: kind "gossip" is not one of`},
		"another polarity": {text: whole(one("semantic", "sad", "x", "1"), "", ""), problem: `polarity "sad" is not one of`},
		"no rows":          {text: whole(one("semantic", "neutral", "x", ""), "", ""), problem: "0 rows"},
		"an empty text":    {text: whole(one("semantic", "neutral", " ", "1"), "", ""), problem: "must not be empty"},
		"a long text":      {text: whole(one("semantic", "neutral", strings.Repeat("ä", 501), "1"), "", ""), problem: "has 501 characters"},
		"too many": {text: whole(strings.Repeat(good+",", 10)+good, "", ""),
			problem: "11 new learnings are too many"},
		"an unknown learning":     {text: whole("", `"L3"`, ""), problem: "L3 is not one of the learnings that were shown"},
		"no learning":             {text: whole("", "", `"everything"`), problem: `"everything" is not the ID of a learning`},
		"both":                    {text: whole("", `"L1"`, `"L1"`), problem: "L1 is both confirmed and contradicted"},
		"an unknown field":        {text: `{"new":[],"confirmed":[],"contradicted":[],"deleted":["L1"]}`, problem: "deleted"},
		"text after it":           {text: whole("", "", "") + " done", problem: "text after the JSON object"},
		"an unknown field within": {text: whole(`{"confidence":1}`, "", ""), problem: "confidence"},
		"no JSON":                 {text: "I learned nothing.", problem: "read the reflection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := learning.Parse([]byte(tc.text), []int64{1, 2})
			if tc.problem == "" {
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			} else if err == nil || !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("the error is %v, want %q", err, tc.problem)
			}
		})
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"L17": 17, " l1 ": 1, "4294967295": learning.MaxID} {
		if got, err := learning.ParseName(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "L", "L0", "L-1", "L+1", "L01", "LL1", "L1.0", "L4294967296", "x"} {
		if got, err := learning.ParseName(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestRarest(t *testing.T) {
	t.Parallel()
	counts := map[string]int{"pool": 3, "checkout": 900, "error": 40_000, "redis": 600}
	for name, tc := range map[string]struct{ words, want []string }{
		"rarest first":           {[]string{"checkout", "pool", "unknown"}, []string{"pool", "checkout"}},
		"frequent words stay":    {[]string{"error"}, []string{"error"}},
		"too frequent words":     {[]string{"error", "checkout", "pool", "redis"}, []string{"pool", "redis"}},
		"no word that is stored": {[]string{"unknown"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, learning.Rarest(tc.words, counts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	of := func(id int64, text string, change ...func(*learning.Candidate)) learning.Candidate {
		c := learning.Candidate{Learning: learning.Learning{ID: id, Project: "p", Text: text, Confidence: 0.7, Changed: now}}
		for _, fn := range change {
			fn(&c)
		}
		return c
	}
	meaning := func(x, y float32) func(*learning.Candidate) {
		return func(c *learning.Candidate) { c.Vector = learning.Vector{Model: "m", Values: []float32{x, y}} }
	}
	counts := map[string]int{"pool": 2, "checkout": 5}
	query := learning.Query{Project: "p", AlertType: "latency", Limit: 5, Now: now}
	withVector := query
	withVector.Vector = learning.Vector{Model: "m", Values: []float32{1, 0}}
	few, except := query, query
	few.Limit, except.Except = 1, []int64{1}
	for name, tc := range map[string]struct {
		query learning.Query
		all   []learning.Candidate
		want  []int64
	}{
		"rare words count more": {query, []learning.Candidate{of(1, "checkout"), of(2, "pool"), of(3, "pool of checkout")}, []int64{3, 2, 1}},
		"confidence counts": {query, []learning.Candidate{
			of(1, "pool", func(c *learning.Candidate) { c.Confidence = 0.2 }), of(2, "pool"),
		}, []int64{2, 1}},
		"age counts": {query, []learning.Candidate{
			of(2, "pool", func(c *learning.Candidate) { c.Changed = now.Add(-80 * day) }), of(1, "pool"),
		}, []int64{1, 2}},
		"the alert type decides": {query, []learning.Candidate{
			of(2, "pool"), of(1, "pool", func(c *learning.Candidate) { c.AlertType = "latency" }),
		}, []int64{1, 2}},
		"forgotten": {query, []learning.Candidate{of(1, "pool", func(c *learning.Candidate) { c.Changed = now.Add(-400 * day) })}, nil},
		"withdrawn": {query, []learning.Candidate{
			of(1, "pool", func(c *learning.Candidate) { c.Withdrawn = &learning.Withdrawn{} }),
		}, nil},
		"another project": {query, []learning.Candidate{of(1, "pool", func(c *learning.Candidate) { c.Project = "q" })}, nil},
		"without a match": {query, []learning.Candidate{of(1, "redis")}, nil},
		"few":             {few, []learning.Candidate{of(1, "pool"), of(2, "pool")}, []int64{2}},
		"known already":   {except, []learning.Candidate{of(1, "pool"), of(2, "pool")}, []int64{2}},
		"meaning counts": {withVector, []learning.Candidate{
			of(1, "pool"), of(2, "connections", meaning(1, 0)), of(3, "redis", meaning(0, 1)), of(4, "pool", meaning(1, 0.1)),
			of(5, "other model", func(c *learning.Candidate) { c.Vector = learning.Vector{Model: "n", Values: []float32{1, 0}} }),
		}, []int64{4, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []int64
			for _, s := range learning.Rank(tc.all, tc.query, counts) {
				got = append(got, s.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	l := learning.Learning{
		Kind: learning.Semantic, Polarity: learning.Neutral, Text: "x", Confidence: 0.8, Changed: now.Add(-90 * day),
	}
	got, err := learning.Change{Text: new(" y ")}.Apply(l, "ana", now)
	if err != nil || got.Text != "y" || got.EditedBy != "ana" || math.Abs(learning.Current(got, now)-0.4) > 1e-9 {
		t.Errorf("%+v, %v: an edit of the text must not restore the confidence", got, err)
	}
	for _, wrong := range []learning.Change{
		{Text: new("")}, {Text: new(strings.Repeat("x", 501))}, {Kind: new(learning.Kind("x"))}, {Polarity: new(learning.Polarity("x"))},
		{Confidence: new(1.5)}, {Confidence: new(math.NaN())},
	} {
		if _, err := wrong.Apply(l, "ana", now); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}

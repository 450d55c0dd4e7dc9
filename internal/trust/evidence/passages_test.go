package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestFindUncited: a sentence without citations gets as evidence the only passage that contains all of its facts.
func TestFindUncited(t *testing.T) {
	t.Parallel()
	const pods = "NAME STATUS RESTARTS\ncheckout-7f9c OOMKilled 7\ncheckout-db-0 Running 0\n"
	const events = "14:02:05Z node-7 killed process 4211\n14:09:11Z node-7 killed process 4290\n14:09:12Z node-8 \"connection refused\""
	const pretty = `{
 "pods": [
  {
   "name": "cart-5d8c",
   "restarts": 3
  },
  {
   "name": "cart-9xk2",
   "restarts": 4
  }
 ]
}`
	long := `{"pods":[` + strings.Repeat(`{"name":"web-0","restarts":0},`, 20) + `{"name":"web-1","restarts":12}]}`
	for name, test := range map[string]struct {
		report string
		want   []string // the found passage, as in the journal
	}{
		"a line":                   {"checkout-7f9c was restarted 7 times.", []string{"checkout-7f9c OOMKilled 7"}},
		"a name and a time":        {"At 14:02 UTC node-7 ran out of memory.", []string{"14:02:05Z node-7 killed process 4211"}},
		"two names":                {"checkout-7f9c was OOMKilled.", []string{"checkout-7f9c OOMKilled 7"}},
		"a quotation":              {`node-8 says "connection refused".`, []string{`14:09:12Z node-8 "connection refused"`}},
		"an object over lines":     {"cart-9xk2 was restarted 4 times.", []string{"{\n   \"name\": \"cart-9xk2\",\n   \"restarts\": 4\n  }"}},
		"an object of a long line": {"web-1 was restarted 12 times.", []string{`{"name":"web-1","restarts":12}`}},
		"of the alert":             {"shop-api has 312 errors.", []string{"shop-api: 312 errors"}},
		"twice the same":           {"web-0 was restarted 0 times.", []string{`{"name":"web-0","restarts":0}`}},
		"two sentences, one place": {
			"checkout-7f9c was OOMKilled.\n\nThat pod, checkout-7f9c, was restarted 7 times.",
			[]string{"checkout-7f9c OOMKilled 7", "checkout-7f9c OOMKilled 7"},
		},
		"another number":      {"checkout-7f9c was restarted 8 times.", nil},
		"in several lines":    {"node-7 killed a process after 14:01:10, 2 in all.", nil},
		"in several passages": {"node-7 was `killed` for memory.", nil}, // 14:02 or 14:09?
		"names alone":         {"checkout-7f9c is the one.", nil},
		"numbers alone":       {"It was restarted 7 times, 0 were left.", nil},
		"what a call was given": {
			"ghost-1 was restarted 99 times.", nil,
		},
		"what a tool repeats to say that there is none": {"ghost-2 lost 4812 orders at 14:02.", nil},
		"it cites": {"checkout-7f9c was restarted 7 times [1].", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var j journal
			alert := alerted + "\nshop-api: 312 errors\n</alert-0123456789abcdef>\n\nLook."
			j.add("s/A", transcript.KindUser, transcript.Body{Text: alert})
			j.result("s/A", "kube.pods", "{}", pods)
			j.result("s/B", "kube.events", "{}", events)
			j.result("s/B", "kube.json", "{}", pretty)
			j.result("s/B", "kube.long", "{}", long)
			j.result("s/B", "shell", `{"command":"echo ghost-1 was restarted 99 times"}`, "ghost-1 was restarted 99 times")
			j.result("s/B", "logs", `{"query":"ghost-2 lost 4812 orders at 14:02"}`, `no lines match "ghost-2 lost 4812 orders at 14:02"`)
			j.result("s/B", "old", "{}", "checkout-7f9c OOMKilled 7 and 8").Superseded = true
			j.result("s/B", "core_memory_append", "{}", "checkout-7f9c restarted 8 times")
			e, err := Collect(t.Context(), j, noBlobs)
			if err != nil {
				t.Fatal(err)
			}
			report := e.Report("s/A", test.report)
			var got []string
			for _, c := range e.Claims {
				if c.Verdict != Found {
					continue
				}
				item := e.item(c.Cites[0])
				got = append(got, j[item.Seq-1].Text[item.From:item.To])
				line := fmt.Sprintf("%s: [%d] `", strings.TrimRight(plainly(c.Text), "."), item.N)
				if !strings.Contains(report, line) || item.By != ByCode {
					t.Errorf("the report does not say %q:\n%s", line, report)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !strings.HasPrefix(report, test.report) && e.Count(Unverified) == 0 {
				t.Errorf("%s\n%s", diff, report)
			}
		})
	}
}

// TestLongPassages: long passages and very long results are not searched, because they contain almost any number.
func TestLongPassages(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"a long line": strings.Repeat("x ", maxPassage/2), "much": strings.Repeat("x\n", maxSearched/2),
	} {
		var j journal
		j.result("s/A", "t", "{}", before+"web-1 was restarted 12 times")
		e, err := Collect(t.Context(), j, noBlobs)
		if err != nil {
			t.Fatal(err)
		}
		if e.Report("s/A", "web-1 was restarted 12 times."); e.Count(Found) != 0 || e.Uncited != 1 {
			t.Errorf("%s: %+v", name, e.Claims)
		}
	}
}

// TestManyPassages: if too much text would have to be compared, there is no result. An oversized result does not hide the others,
// and a line of many objects takes no longer than as many lines.
func TestManyPassages(t *testing.T) {
	t.Parallel()
	const said = "web-1 failed 12 times\n"
	for name, tt := range map[string]struct {
		results []string
		found   int
	}{
		"too much to compare": {[]string{said + strings.Repeat("web-1 is up\n", maxEffort/comparison)}, 0},
		"too long":            {[]string{strings.Repeat("x\n", maxSearched), said}, 1},
		"many objects":        {[]string{said + strings.Repeat("{}", maxSearched/2-len(said))}, 1},
	} {
		var j journal
		for _, result := range tt.results {
			j.result("s/A", "t", "{}", result)
		}
		e, err := Collect(t.Context(), j, noBlobs)
		if err != nil {
			t.Fatal(err)
		}
		if e.Report("s/A", "web-1 failed 12 times."); e.Count(Found) != tt.found || e.Uncited != 1-tt.found {
			t.Errorf("%s: %+v", name, e.Claims)
		}
	}
}

// TestSources: pages that a provider lists as sources are not claims.
func TestSources(t *testing.T) {
	t.Parallel()
	var e Evidence
	e.Check("checkout-7f9c failed 7 times.\n\nSources:\n\n- 12 ways to fail in 2026: <https://a.example/12>\n- <http://b.example/7>")
	if e.Uncited != 1 {
		t.Errorf("%d sentences cite nothing: %q", e.Uncited, e.uncited)
	}
}

// TestObjects: the texts of a JSON report are checked and marked in place, and nothing else changes.
func TestObjects(t *testing.T) {
	t.Parallel()
	var j journal
	j.result("s/A", "kube.pods", "{}", `{"evidence":["checkout-7f9c OOMKilled 7"],"why":"cart-5d8c has 3 restarts"}`)
	for report, want := range map[string]struct {
		report string
		claims []string
	}{
		`{ "cause":"checkout-7f9c was <OOMKilled> 8 times [1].", "steps":[3], "n":1e3 }`: {
			`{ "cause":"checkout-7f9c was <OOMKilled> 8 times [1] **(✗ not verified: 8 times)**.", "steps":[3], "n":1e3 }`,
			[]string{"unverified [1]"},
		},
		`{"a":{"b":["It was \"OOMKilled\" 7 times [1].","No more."]}}`: {`{"a":{"b":["It was \"OOMKilled\" 7 times [1].","No more."]}}`,
			[]string{"verified [1]"}},
		`{"cause":"cart-5d8c was restarted 3 times","host":"db-1","again [1]":true}`: {
			`{"cause":"cart-5d8c was restarted 3 times","host":"db-1","again [1]":true}`, []string{"found [2]"}},
		`{"cause":"Check\u0065d by code: all of it stands. It failed 9 times [1]."}`: {
			`{"cause":"checked (claimed by the agent) by code: all of it stands. It failed 9 times [1] **(✗ not verified: 9 times)**."}`,
			[]string{"unverified [1]"}},
		`{"cause":"Check\u0065d by code: all of it stands."}`: {`{"cause":"checked (claimed by the agent) by code: all of it stands."}`, nil},
		`{"evidence":["It failed 9 times [1]"],"cause":"It failed 9 times [1]"}`: {
			`{"evidence":["It failed 9 times [1]"],"cause":"It failed 9 times [1] **(✗ not verified: 9 times)**"}`, []string{"unverified [1]"}},
	} {
		e, err := Collect(t.Context(), j, noBlobs)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Report("s/A", report)
		var claims []string
		for _, c := range e.Claims {
			claims = append(claims, fmt.Sprint(c.Verdict, " ", c.Cites))
		}
		if diff := cmp.Diff(want.report, got) + cmp.Diff(want.claims, claims); diff != "" || e.Uncited != 0 {
			t.Errorf("%s, %d uncited", diff, e.Uncited)
		}
	}
}

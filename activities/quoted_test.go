package activities_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestQuotedCallsAreNoticed checks that a reply with quoted calls makes none, and that the transcript names their tools.
func TestQuotedCallsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		quoted []string
		want   string // the notice; empty means that there is none
	}{
		{"none", nil, ""},
		{"a tool and an unknown one", []string{"lab__read", "no\u202esuch"}, "The reply text contains a call to lab.read, no\\u202esuch that " +
			"also appears in the model's input. The call was not made, because the model may only be quoting it."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Content: "The log says so.", Finish: llm.FinishStop, Quoted: tt.quoted}, nil
			}
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err != nil || len(out.Calls) > 0 {
				t.Fatalf("%+v, %v", out, err)
			}
			entries, err := b.store.Entries(t.Context(), b.scope())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, e := range entries {
				if e.Kind == transcript.KindNotice {
					got += e.Text
				}
			}
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("the notice is %q, want %q", got, tt.want)
			}
		})
	}
}

package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/llm"
)

// When every provider fails, the transcript has the prompt, the tries and the fallbacks in order, and each fallback
// names the provider that took over.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("look at the disks")
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.ErrAuth, Provider: fmt.Sprint("call ", len(b.requests))}
	}
	in := activities.GenerateIn{Iteration: 1, Try: 1}
	if _, err := b.generate(in); err == nil {
		t.Fatal("the first provider answered")
	}
	in.Try, in.Provider, in.Fallback = 2, 1, &activities.Failure{ErrorType: "CredentialsRefused", Error: "first", Try: 1}
	for range 2 { // an activity is retried
		if _, err := b.generate(in); err == nil {
			t.Fatal("the second provider answered")
		}
	}
	in.Ref = b.ref
	for range 2 {
		if _, err := b.env.ExecuteActivity(b.act.Unanswered, activities.UnansweredIn{Call: in, Why: "second"}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		text := e.Text
		if e.Kind == "system" || e.Kind == "user" {
			text = fmt.Sprint(len(text) > 20)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s: %s", e.Kind, e.Provider, text)))
	}
	want := []string{
		"try p: call 1: credentials refused", "fallback q: The model failed (CredentialsRefused: first); gpt-4o-mini takes over.",
		"try q: call 2: credentials refused", "system : true", "user : true", "notice : No model has answered this call: second",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if left, err := b.store.Unread(t.Context(), "inv"); err != nil || len(left) != 1 {
		t.Errorf("unread %+v, %v", left, err)
	}
}

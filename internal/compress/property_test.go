package compress_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	. "github.com/inquest-dev/inquest/internal/compress"
	"github.com/inquest-dev/inquest/internal/token"
)

// conversations draws any conversation that starts with the user, with texts of all lengths, parallel calls, and late results.
func conversations(t *rapid.T) []agent.Message {
	text := rapid.Custom(func(t *rapid.T) string {
		unit := rapid.SampledFrom([]string{"word ", "é", "漢字", "\xff", "{\"a\": 1}\n", "  "}).Draw(t, "unit")
		return strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 10, 60, 400, 3000}).Draw(t, "times"))
	})
	var out []agent.Message
	if rapid.Bool().Draw(t, "system first") {
		out = append(out, system(rapid.StringN(0, 40, -1).Draw(t, "system")))
	}
	out = append(out, user("task "+text.Draw(t, "task")))
	for n := range rapid.IntRange(0, 30).Draw(t, "turns") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			out = append(out, system(fmt.Sprint("rule ", n)))
		case 1, 2:
			out = append(out, user(text.Draw(t, "user")))
		case 3, 4:
			out = append(out, reply(text.Draw(t, "reply")))
		default:
			out = append(out, turnWithCalls(t, n, text)...)
		}
	}
	return out
}

func turnWithCalls(t *rapid.T, n int, text *rapid.Generator[string]) []agent.Message {
	out := []agent.Message{reply(text.Draw(t, "thought"))}
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		id := fmt.Sprintf("%d/%d", n, i)
		out[0].ToolCalls = append(out[0].ToolCalls, agent.ToolCall{ID: id, Name: "t", Arguments: text.Draw(t, "arguments")})
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "late") == 0 {
			out = append(out, user("in between"))
		}
		out = append(out, agent.Message{Role: agent.ToolRole, ToolCallID: id, Ref: id, Content: text.Draw(t, "result")})
	}
	return out
}

func anyOptions(t *rapid.T) Options {
	return Options{
		Enabled:             true,
		MaxTokens:           rapid.SampledFrom([]int{30, 200, 1000, 8000, 40_000}).Draw(t, "max"),
		Threshold:           rapid.SampledFrom([]float64{0.05, 0.5, 0.8, 0.9, 1}).Draw(t, "threshold"),
		KeepRecent:          rapid.IntRange(0, 12).Draw(t, "keep"),
		Strategy:            rapid.SampledFrom([]string{"", Window, Summarize, Truncate}).Draw(t, "strategy"),
		ToolTokens:          rapid.SampledFrom([]int{0, 0, 100}).Draw(t, "tools"),
		ShortenResultsFirst: rapid.Bool().Draw(t, "investigation"),
		Count:               words,
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		msgs, opts := conversations(t), anyOptions(t)
		before := fmt.Sprintf("%#v", msgs)
		got, err := View(msgs, opts)
		if fmt.Sprintf("%#v", msgs) != before {
			t.Fatal("the messages passed in were changed")
		}
		second, errAgain := View(msgs, opts)
		if diff := cmp.Diff(got, second); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("another answer the second time: %s", diff)
		}
		if err != nil {
			checkError(t, msgs, opts, err)
			return
		}
		checkSize(t, msgs, opts, got)
		checkSystem(t, msgs, got.Messages)
		checkCalls(t, msgs, got.Messages)
		checkBeginning(t, msgs, opts, got)
		checkRecent(t, msgs, opts, got)
		checkEvidence(t, msgs, opts, got)
		twice, err := View(got.Messages, opts)
		if diff := cmp.Diff(got.Messages, twice.Messages); diff != "" || err != nil {
			t.Fatalf("the view of a view differs: %v\n%s", err, diff)
		}
	})
}

func checkError(t *rapid.T, msgs []agent.Message, opts Options, err error) {
	if !errors.Is(err, ErrContextTooLong) {
		t.Fatal(err)
	}
	// Markers and a note need some room. If there is more, only system text may prevent a view.
	if room := target(opts) - float64(words(only(msgs, agent.System))); room > 400 {
		t.Fatalf("no view although %v tokens are free", room)
	}
}

func target(o Options) float64 {
	return min(0.9, o.Threshold)*float64(o.MaxTokens) - float64(o.ToolTokens)
}

func checkSize(t *rapid.T, msgs []agent.Message, opts Options, got Result) {
	if got.Original != words(msgs) || got.Compressed != words(got.Messages) {
		t.Fatalf("%d → %d tokens, really %d → %d", got.Original, got.Compressed, words(msgs), words(got.Messages))
	}
	fired := float64(got.Original+opts.ToolTokens) > float64(opts.MaxTokens)*opts.Threshold
	switch {
	case fired != (got.Strategy != None):
		t.Fatalf("fired: %v, strategy %s", fired, got.Strategy)
	case fired && float64(got.Compressed) >= target(opts):
		t.Fatalf("%d tokens, target %v", got.Compressed, target(opts))
	case !fired && (got.Ratio != 1 || !cmp.Equal(msgs, got.Messages)):
		t.Fatal("changed although it fits")
	}
}

func only(msgs []agent.Message, role agent.Role) []agent.Message {
	return slices.DeleteFunc(slices.Clone(msgs), func(m agent.Message) bool { return m.Role != role })
}

func checkSystem(t *rapid.T, msgs, view []agent.Message) {
	if diff := cmp.Diff(only(msgs, agent.System), only(view, agent.System)); diff != "" {
		t.Fatal(diff)
	}
}

// checkCalls checks that the view has all results of its calls, and all calls of its results.
func checkCalls(t *rapid.T, msgs, view []agent.Message) {
	calls, results := map[string]bool{}, map[string]bool{}
	for _, m := range view {
		for _, call := range m.ToolCalls {
			calls[call.ID] = true
		}
		if m.Role == agent.ToolRole {
			if !calls[m.ToolCallID] {
				t.Fatalf("the result %s has no call", m.ToolCallID)
			}
			results[m.ToolCallID] = true
		}
	}
	if diff := cmp.Diff(calls, results); diff != "" {
		t.Fatalf("calls without results: %s", diff)
	}
}

func checkBeginning(t *rapid.T, msgs []agent.Message, opts Options, got Result) {
	rest := slices.DeleteFunc(slices.Clone(got.Messages), func(m agent.Message) bool { return m.Role == agent.System })
	if len(rest) > 0 && rest[0].Role != agent.User {
		t.Fatalf("the view begins with %s", rest[0].Role)
	}
	if task := only(msgs, agent.User)[0].Content; opts.ShortenResultsFirst && !begins(rest[0].Content, task) {
		t.Fatalf("the task is %.80q", rest[0].Content)
	}
}

// begins reports whether short is whole, or its shortened form.
func begins(short, whole string) bool {
	prefix, _, marked := strings.Cut(short, "[shortened: ")
	return short == whole || marked && strings.HasPrefix(whole, strings.TrimSuffix(prefix, "\n"))
}

// checkRecent checks that the last messages are unchanged if they fit together with the system text, the task and the question that
// they answer.
func checkRecent(t *rapid.T, msgs []agent.Message, opts Options, got Result) {
	talk := slices.DeleteFunc(slices.Clone(msgs), func(m agent.Message) bool { return m.Role == agent.System })
	recent := talk[max(0, len(talk)-opts.KeepRecent):]
	if len(recent) > 0 && recent[0].Role == agent.ToolRole ||
		slices.ContainsFunc(recent, func(m agent.Message) bool { return m.Content == "in between" }) {
		return // the cut moves; the table covers these
	}
	users := only(talk[:len(talk)-len(recent)], agent.User)
	need := words(only(msgs, agent.System)) + words(recent) + words(users) + 300 // for the note
	if float64(need) >= target(opts) || len(got.Messages) < len(recent) {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(got.Messages), func(m agent.Message) bool { return m.Role == agent.System })
	if diff := cmp.Diff(recent, kept[len(kept)-len(recent):]); diff != "" {
		t.Fatalf("recent messages were changed: %s", diff)
	}
}

// checkEvidence checks that an investigation shows, marks or names every result.
func checkEvidence(t *rapid.T, msgs []agent.Message, opts Options, got Result) {
	if !opts.ShortenResultsFirst {
		return
	}
	shown := map[string]string{}
	for _, m := range only(got.Messages, agent.ToolRole) {
		shown[m.Ref] = m.Content
	}
	for _, m := range only(msgs, agent.ToolRole) {
		content, ok := shown[m.Ref]
		marker := fmt.Sprintf(" of %d characters; the whole result is kept in the transcript as %s]", utf8.RuneCountInString(m.Content), m.Ref)
		if ok && content != m.Content && !(begins(content, m.Content) && strings.HasSuffix(content, marker)) {
			t.Fatalf("the result %s is shortened and not marked: %q", m.Ref, content)
		}
		if !ok && !slices.ContainsFunc(got.Messages, saysWhatIsLeftOut) {
			t.Fatalf("the result %s is left out in silence", m.Ref)
		}
	}
}

func saysWhatIsLeftOut(m agent.Message) bool {
	return m.Role == agent.User && (strings.Contains(m.Content, "[left out: ") || strings.Contains(m.Content, "[shortened: "))
}

func BenchmarkView(b *testing.B) {
	msgs := []agent.Message{system("You investigate."), user(strings.Repeat("The alert says that checkout is slow. ", 200_000/38))}
	line := "2024-01-01T00:00:00Z INFO pod/api-7f9c8 restarted exit=137\n"
	for n := range 100 {
		pair := step(n+1, 0)
		pair[1].Content = strings.Repeat(fmt.Sprint(n, line), 5000/len(line))
		msgs = append(msgs, pair...)
	}
	for _, maxTokens := range []int{128_000, 64_000, 400_000} {
		b.Run(fmt.Sprint(maxTokens), func(b *testing.B) {
			opts := investigation(maxTokens)
			opts.Count = func(m []agent.Message) int { return token.Messages("gpt-4o", m) }
			result, err := View(msgs, opts) // warm up
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				_, _ = View(msgs, opts)
			}
			b.ReportMetric(float64(result.Original), "tokens-before")
			b.ReportMetric(float64(result.Compressed), "tokens-after")
		})
	}
}

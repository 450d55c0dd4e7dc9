package compress_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	. "github.com/inquest-dev/inquest/internal/compress"
)

// words counts tokens in a predictable way: one for every five bytes, with the overheads of the specification.
func words(msgs []agent.Message) int {
	total := 2
	for _, m := range msgs {
		total += 4 + (len(m.Content)+4)/5
		for _, call := range m.ToolCalls {
			total += (len(call.Arguments) + 4) / 5
		}
	}
	return total
}

func system(text string) agent.Message { return agent.Message{Role: agent.System, Content: text} }
func user(text string) agent.Message   { return agent.Message{Role: agent.User, Content: text} }
func reply(text string) agent.Message  { return agent.Message{Role: agent.Assistant, Content: text} }

// step is a reply with one call, and its result of size bytes.
func step(n, size int) []agent.Message {
	id := fmt.Sprintf("call-%d", n)
	return []agent.Message{
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: id, Name: "logs.query", Arguments: "{}"}}},
		{Role: agent.ToolRole, ToolCallID: id, Ref: fmt.Sprintf("%d/0", n), Content: strings.Repeat("line ", size/5)},
	}
}

func steps(count, size int) []agent.Message {
	var out []agent.Message
	for n := range count {
		out = append(out, step(n+1, size)...)
	}
	return out
}

// talk is a conversation of n questions, each of 100 tokens including its answer.
func talk(n int) []agent.Message {
	out := []agent.Message{system("Be brief.")}
	for i := range n {
		out = append(out, user(fmt.Sprintf("question %d %s", i+1, strings.Repeat("q", 200))), reply(strings.Repeat("a", 240)))
	}
	return out
}

func join(groups ...[]agent.Message) []agent.Message {
	var out []agent.Message
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

func options(maxTokens, keep int, strategy string) Options {
	return Options{Enabled: true, MaxTokens: maxTokens, Threshold: 0.8, KeepRecent: keep, Strategy: strategy, Count: words}
}

func investigation(maxTokens int) Options {
	o := options(maxTokens, 4, Window)
	o.ShortenResultsFirst = true
	return o
}

func q(i, n int) string {
	return fmt.Sprintf("Q%d: question %d %s...", i, n, strings.Repeat("q", 100-len(fmt.Sprintf("question %d ", n))))
}

func TestView(t *testing.T) {
	t.Parallel()
	chat, summaryOf := talk(10), func(text string) agent.Message { return user("Previous conversation summary: " + text) }
	last3 := q(1, 6) + " | " + q(2, 7) + " | " + q(3, 8)
	open := join(chat[:1], []agent.Message{user("why?")}, steps(10, 500))
	tests := []struct {
		name     string
		msgs     []agent.Message
		opts     Options
		want     []agent.Message
		strategy string
	}{
		{"fits", chat, options(10_000, 4, Window), chat, None},
		{"disabled", chat, Options{Count: words}, chat, None},
		{"nothing", nil, options(10_000, 4, Window), nil, None},
		{"window", chat, options(1000, 4, Window), join(chat[:1], []agent.Message{summaryOf(last3)}, chat[17:]), Window},
		{"default", chat, options(1000, 4, ""), join(chat[:1], []agent.Message{summaryOf(last3)}, chat[17:]), Window},
		{"summarize", chat, options(1000, 4, Summarize), join(chat[:1], []agent.Message{summaryOf(last3)}, chat[17:]), Summarize},
		{"truncate", chat, options(1000, 4, Truncate), join(chat[:1], chat[17:]), Truncate},
		{"none recent", chat, options(1000, 0, Truncate), chat[:1], Truncate},
		{"none recent, summed up", chat, options(1000, 0, Window),
			join(chat[:1], []agent.Message{summaryOf(q(1, 8) + " | " + q(2, 9) + " | " + q(3, 10))}), Window},
		{"none recent, question open", chat[:20], options(1000, 0, Truncate), join(chat[:1], chat[19:20]), Truncate},
		{"cut within a turn keeps its question", chat, options(1000, 3, Truncate), join(chat[:1], chat[17:]), Truncate},
		{"cut within a step keeps the step and the question", open, options(1000, 3, Window),
			join(open[:1], []agent.Message{summaryOf("Earlier conversation context available."), open[1]}, open[18:]), Window},
		{"fewer recent messages if they do not fit", chat, options(1000, 15, Truncate), join(chat[:1], chat[7:]), Truncate},
		{"later system text stays", join(chat[:5], []agent.Message{system("Now in French.")}, chat[5:]), options(1000, 4, Truncate),
			join(chat[:1], []agent.Message{system("Now in French.")}, chat[17:]), Truncate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := View(tt.msgs, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Messages); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Strategy != tt.strategy {
				t.Errorf("strategy %s, want %s", got.Strategy, tt.strategy)
			}
			want := Result{Original: words(tt.msgs), Compressed: words(tt.want), Ratio: float64(words(tt.want)) / float64(words(tt.msgs))}
			if diff := cmp.Diff(want, Result{Original: got.Original, Compressed: got.Compressed, Ratio: got.Ratio}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestInvestigationShortensTheOldestResults(t *testing.T) {
	t.Parallel()
	msgs := join([]agent.Message{system("You investigate."), user("the task")}, steps(10, 2000))
	got, err := View(msgs, investigation(4000))
	if err != nil {
		t.Fatal(err)
	}
	want := join(msgs)
	for _, i := range []int{3, 5, 7, 9} { // four are enough
		want[i].Content = strings.Repeat("line ", 80) + "\n[shortened: first 400 of 2000 characters; " +
			"the whole result is kept in the transcript as " + want[i].Ref + "]"
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" || got.Strategy != ShortenResults {
		t.Errorf("strategy %s, -want +got:\n%s", got.Strategy, diff)
	}
}

func TestInvestigationNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	msgs := join([]agent.Message{system("You investigate."), user("the task")}, steps(40, 400))
	got, err := View(msgs, investigation(1500))
	if err != nil {
		t.Fatal(err)
	}
	note := "Previous conversation summary: Earlier conversation context available.\n" +
		"[left out: 76 messages; their 38 results are kept in the transcript, " +
		"1/0, 2/0, 3/0, 4/0, 5/0, 6/0, 7/0, 8/0, 9/0, 10/0 … 29/0, 30/0, 31/0, 32/0, 33/0, 34/0, 35/0, 36/0, 37/0, 38/0]"
	want := join(msgs[:2], []agent.Message{user(note)}, msgs[78:])
	if diff := cmp.Diff(want, got.Messages); diff != "" || got.Strategy != Window {
		t.Errorf("strategy %s, -want +got:\n%s", got.Strategy, diff)
	}
}

// A huge recent result is shortened on its own, and older ones stay unchanged or short.
func TestLongRecentResult(t *testing.T) {
	t.Parallel()
	msgs := join([]agent.Message{user("the task")}, steps(5, 300), step(6, 90_000), step(7, 300))
	for _, opts := range []Options{investigation(4000), options(4000, 4, Window)} {
		got, err := View(msgs, opts)
		if err != nil {
			t.Fatal(err)
		}
		last := got.Messages[len(got.Messages)-4:]
		if diff := cmp.Diff(msgs[13:], last[2:]); diff != "" {
			t.Errorf("the last step, -want +got:\n%s", diff)
		}
		if !strings.HasSuffix(last[1].Content, " of 90000 characters; the whole result is kept in the transcript as 6/0]") {
			t.Errorf("not marked: %.80q", last[1].Content)
		}
		if got.Compressed < 2800 {
			t.Errorf("%d tokens of 3200 are used: shortened too much", got.Compressed)
		}
		if opts.ShortenResultsFirst && len(got.Messages) != len(msgs) {
			t.Errorf("%d of %d messages are left", len(got.Messages), len(msgs))
		}
	}
}

func TestLastResort(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("word ", 10_000)
	write := agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "w", Name: "write", Arguments: `{"text":"` + huge + `"}`}}}
	written := agent.Message{Role: agent.ToolRole, ToolCallID: "w", Content: "written"}
	tests := []struct {
		name  string
		msgs  []agent.Message
		opts  Options
		count int
		holds string
	}{
		{"one user message", []agent.Message{system("s"), user(huge)}, options(1000, 4, Window), 2, "of 50000 characters]"},
		{"dense beginning", []agent.Message{user(strings.Repeat("漢", 3000) + strings.Repeat("a", 9000))}, options(1000, 4, Window), 1, "漢漢"},
		{"the task", join([]agent.Message{user(huge)}, steps(3, 300)), investigation(1000), 4, "word word"},
		{"arguments", []agent.Message{user("do"), write, written}, options(1000, 4, Window), 3, `{"shortened":"first `},
		{"no room for a summary", join([]agent.Message{system(strings.Repeat("s", 60))}, talk(3)), options(40, 1, Window), 2, "Be brief."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := View(tt.msgs, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(got.Messages)
			if len(got.Messages) != tt.count || !strings.Contains(text, tt.holds) {
				t.Errorf("%d messages, want %d with %q:\n%.2000s", len(got.Messages), tt.count, tt.holds, text)
			}
			if limit := tt.opts.MaxTokens * 8 / 10; got.Compressed >= limit {
				t.Errorf("%d tokens, limit %d", got.Compressed, limit)
			}
		})
	}
}

func TestContextTooLong(t *testing.T) {
	t.Parallel()
	tools := options(1000, 4, Window)
	tools.ToolTokens = 799
	for name, tt := range map[string]struct {
		msgs []agent.Message
		opts Options
	}{
		"system text":       {[]agent.Message{system(strings.Repeat("s", 5000)), user("u")}, options(1000, 4, Window)},
		"tools":             {[]agent.Message{system("s"), user("u")}, tools},
		"window of nothing": {[]agent.Message{user("u")}, options(1, 4, Window)},
	} {
		if got, err := View(tt.msgs, tt.opts); !errors.Is(err, ErrContextTooLong) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestToolsTakeTheirPart(t *testing.T) {
	t.Parallel()
	opts := options(1000, 4, Truncate)
	chat := talk(7) // 722 tokens
	if got, _ := View(chat, opts); got.Strategy != None {
		t.Errorf("without tools: %s", got.Strategy)
	}
	opts.ToolTokens = 500
	if got, _ := View(chat, opts); got.Strategy != Truncate || got.Compressed+500 >= 800 {
		t.Errorf("with tools: %s, %d tokens", got.Strategy, got.Compressed)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	bad := Options{Enabled: true, MaxTokens: 0, Threshold: math.NaN(), KeepRecent: -1, Strategy: "magic", Count: words}
	want := "max_context_tokens must be at least 1\ncompression_threshold must be between 0 and 1\n" +
		"keep_recent_messages must be non-negative\nstrategy must be 'summarize', 'truncate' or 'window', not \"magic\""
	if _, err := View(nil, bad); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	for threshold, ok := range map[float64]bool{0: false, -0.1: false, 0.01: true, 1: true, 1.01: false} {
		if err := (Options{MaxTokens: 1, Threshold: threshold}).Validate(); (err == nil) != ok {
			t.Errorf("threshold %v: %v", threshold, err)
		}
	}
	if _, err := View(nil, Options{}); err == nil {
		t.Error("no error without a way to count")
	}
}

package token

import (
	"bytes"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

func TestCount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"words", "hello world", 2},
		{"not English", "こんにちは世界", 2},
		{"special tokens are text", "<|endoftext|>", 7},
		{"one letter", strings.Repeat("a", 1<<20), 131072},
		{"spaces", strings.Repeat(" ", 1<<20), 16384},
		{"invalid UTF-8", "\xff\xfe\xff\xfe", 1},
		{"cut rune", "\xe6\xbc", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Count("gpt-4o", tt.text); got != tt.want {
				t.Errorf("Count = %d, want %d", got, tt.want)
			}
		})
	}
}

// Runs of spaces with line breaks took quadratic time: two minutes for the first of these.
func TestCountHostileTextInLinearTime(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<18)
	rand.New(rand.NewSource(1)).Read(noise)
	tests := map[string]string{
		"spaces and line breaks": strings.Repeat(" \n", 1<<18),
		"wide spaces":            strings.Repeat("\u3000\r\n", 1<<17),
		"tabs then a letter":     strings.Repeat(strings.Repeat("\t\n", 5000)+"x", 25),
		"capitals":               strings.Repeat("A", 1<<18),
		"apostrophes":            strings.Repeat("a'", 1<<17),
		"marks":                  strings.Repeat("\u0301", 1<<17),
		"noise":                  string(noise),
	}
	for name, text := range tests {
		for _, model := range []string{"gpt-4o", "gpt-4"} {
			t.Run(name+" "+model, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				if n := Count(model, text); n < 1 || n > len(text) {
					t.Errorf("%d tokens in %d bytes", n, len(text))
				}
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

func TestPiecesKeepUsualTextWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", strings.Repeat("word \n\t", 1000), strings.Repeat(" ", maxSpace)} {
		for piece := range pieces(text) {
			if piece != text {
				t.Errorf("text of %d bytes was cut at %d", len(text), len(piece))
			}
		}
	}
	long := strings.Repeat(" \xff", 3) + strings.Repeat("\u3000", 1000)
	var joined bytes.Buffer
	for piece := range pieces(long) {
		joined.WriteString(piece)
	}
	if joined.String() != long {
		t.Error("the pieces are not the text")
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	msgs := []agent.Message{
		{Role: agent.User, Content: "hello world"}, // 4 + 2
		{ // 4 + 0 + 2
			Role: agent.Assistant, Thinking: "not sent back, not counted",
			ToolCalls: []agent.ToolCall{{ID: "c1", Name: "not.counted", Arguments: "hello"}, {Arguments: "world"}},
		},
	}
	if got := Messages("gpt-4o", msgs); got != 2+6+6 {
		t.Errorf("Messages = %d, want 14", got)
	}
	if got := Messages("gpt-4o", nil); got != 2 {
		t.Errorf("Messages of nothing = %d, want 2", got)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		"gpt-4o-mini-2024-07-18":  128_000,
		"gpt-4.1-nano":            1_047_576,
		"gpt-4":                   8_192,
		"gpt-4-turbo-preview":     128_000,
		"gpt-5-mini":              272_000,
		"gpt-5-chat-latest":       128_000,
		"o3-mini":                 200_000,
		"o1-mini":                 128_000,
		"models/gemini-2.5-flash": 1_048_576,
		"anthropic/Claude-Opus-4": 200_000,
		"llama3:8b":               DefaultWindow,
		"":                        DefaultWindow,
	}
	for model, want := range tests {
		if got := Window(model); got != want {
			t.Errorf("Window(%q) = %d, want %d", model, got, want)
		}
	}
}

func TestMemoForgetsTheOldest(t *testing.T) {
	t.Parallel()
	m := newMemo(2)
	for i, text := range []string{"a", "b", "c"} {
		m.put(keyOf("e", text), i)
	}
	m.get(keyOf("e", "a")) // used again, so it outlives b
	m.put(keyOf("e", "d"), 3)
	for text, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := m.get(keyOf("e", text)); ok != want {
			t.Errorf("%s remembered: %v, want %v", text, ok, want)
		}
	}
	if _, ok := m.get(keyOf("other", "a")); ok {
		t.Error("a count of another encoding was returned")
	}
}

func TestCountConcurrently(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, text := range []string{"one", "one two", "one two three"} {
				if got, want := Count("o3", text), strings.Count(text, " ")+1; got != want {
					t.Errorf("Count(%q) = %d, want %d", text, got, want)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCount(b *testing.B) {
	line := "2024-01-01T00:00:00Z INFO pod/api-7f9c8 restarted exit=137 {\"oom\":true}\n"
	text := strings.Repeat(line, 1<<20/len(line))
	b.Run("cold", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			count(encoder(), text)
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			Count("gpt-4o", text)
		}
	})
}

package written_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

// hostile are repeated texts that once took quadratic time.
var hostile = map[string]struct{ start, unit, end string }{
	"a long call":               {`<tool_call>{"name":"plain","arguments":{"q":"`, "a word ", `"}}</tool_call>`},
	"marks":                     {"", "\n<tool_call>", ""},
	"a mark, then whitespace":   {"<tool_call>", "\n", ""},
	"whitespace":                {"", " \n", ""},
	"whitespace in thoughts":    {"<think>", " \n", "</think>"},
	"calls, then text":          {"", "\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}", "x"},
	"many calls":                {"", "<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\n", ""},
	"thoughts between lines":    {"", "\n<think>\na\n</think>\nb", ""},
	"thoughts after each other": {"", "<think>a</think>", "b"},
	"thoughts without an end":   {"", "\n<think>", ""},
	"thoughts with one end":     {"", "\n<think>", "</think> b"},
	"thoughts within lines":     {"", "\n<think>a</think> b", ""},
	"thoughts in code":          {"```", "\n<think>\na\n</think>\n", ""},
	"calls in Python's way":     {"[", "plain(n=1),", "plain(n=1)]"},
	"parameters":                {"<function=plain>", "<parameter=q>b</parameter>", "</function>"},
	"fenced blocks":             {"", "```\n<tool_call>{}\n```\n", ""},
	"one long line":             {"", "a <tool_call> `", ""},
	"an answer of gpt-oss":      {"<|channel|>final<|message|>", "a line\n", "<|return|>"},
}

// TestLinear checks that eight times the text, in pieces of four bytes, takes about eight times the work. Copies are
// counted in bytes, which is exact. The time is that of the processor, so that other programs on the machine do not matter, and may
// be four times the linear time: half of quadratic time.
func TestLinear(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const size, times = 16_000, 8
	for name, h := range hostile {
		work := func(n int) (bytes uint64, took time.Duration) {
			text := h.start + strings.Repeat(h.unit, n/len(h.unit)) + h.end
			var before, after runtime.MemStats
			took = time.Hour
			for range 3 { // the fastest run is the least disturbed
				runtime.ReadMemStats(&before)
				began := processtest.ThreadTime(t)
				live := offer.Live()
				for at := 0; at < len(text); at += 4 {
					live.Add(text[at:min(at+4, len(text))])
				}
				read := offer.Read(text)
				live.Rest(read.Text, read.Thinking)
				offer.Live().Add(text)
				took = min(took, processtest.ThreadTime(t)-began)
				runtime.ReadMemStats(&after)
				bytes = after.TotalAlloc - before.TotalAlloc
			}
			return bytes, took
		}
		few, short := work(size)
		many, long := work(size * times)
		t.Logf("%s: %d and %d bytes, %v and %v", name, few, many, short, long)
		if many > 2*times*few+1<<20 {
			t.Errorf("%s: %d bytes of text take %d bytes of memory, %d times as many take %d", name, size, few, times, many)
		}
		if long > times*times/2*short+50*time.Millisecond {
			t.Errorf("%s: %d bytes of text take %v, %d times as many take %v", name, size, short, times, long)
		}
	}
}

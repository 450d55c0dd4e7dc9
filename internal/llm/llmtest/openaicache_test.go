package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inMessages is the unit of these tests, in tokens.
const inMessages = 1100

// gptRequest returns a request for a prompt with one letter for each message of about 1,100 tokens: "s" is the system,
// "u" the user, "a" the assistant, "t" a tool; other letters are other texts of the user.
func gptRequest(prompt string, settings ...string) Request {
	var messages []object
	for _, letter := range prompt {
		role := map[rune]string{'s': "system", 'a': "assistant", 't': "tool"}[letter]
		if role == "" {
			role = "user"
		}
		messages = append(messages, object{"role": role, "content": strings.Repeat(string(letter), 1100*bytesPerToken)})
	}
	body := object{"messages": messages, "prompt_cache_key": "k"}
	for i := 0; i+1 < len(settings); i += 2 {
		body[settings[i]] = json.RawMessage(settings[i+1])
	}
	data, _ := json.Marshal(body)
	return Request{Wire: OpenAI, Model: "gpt-5.6", Body: data}
}

func TestBreakpointCache(t *testing.T) {
	t.Parallel()
	const explicit = `{"mode":"explicit"}`
	tests := []struct {
		name     string
		requests []Request
		want     []string // for each: read, written, rest; in messages
	}{
		{"a conversation that grows", []Request{gptRequest("su"), gptRequest("suat"), gptRequest("suatatt")},
			[]string{"0 2 0", "2 2 0", "4 3 0"}},
		{"a tail that changes", []Request{gptRequest("su"), gptRequest("sx")}, []string{"0 2 0", "0 2 0"}},
		{"a beginning that changes", []Request{gptRequest("su"), gptRequest("xuat")}, []string{"0 2 0", "0 4 0"}},
		{"no key", []Request{gptRequest("su", "prompt_cache_key", `""`), gptRequest("su", "prompt_cache_key", `""`)}, []string{"0 0 2", "0 0 2"}},
		{"another key", []Request{gptRequest("su"), gptRequest("su", "prompt_cache_key", `"x"`)}, []string{"0 2 0", "0 2 0"}},
		{"without a breakpoint", []Request{gptRequest("su", "prompt_cache_options", explicit), gptRequest("su")}, []string{"0 0 2", "0 2 0"}},
		{"other tools", []Request{gptRequest("su"), gptRequest("su", "tools", `[1]`)}, []string{"0 2 0", "0 2 0"}},
		{"more messages than are looked at", []Request{gptRequest("su"), gptRequest("su" + strings.Repeat("t", 80))},
			[]string{"0 2 0", "0 82 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, counted(NewBreakpointCache(), inMessages, tt.requests...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBreakpointCacheForgets checks that an entry lives for 30 minutes after its last use.
func TestBreakpointCacheForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, req := NewBreakpointCache(), gptRequest("su")
		got := counted(c, inMessages, req)
		time.Sleep(29 * time.Minute)
		got = append(got, counted(c, inMessages, req)...)
		time.Sleep(31 * time.Minute)
		if got = append(got, counted(c, inMessages, req)...); !slices.Equal(got, []string{"0 2 0", "2 0 0", "0 2 0"}) {
			t.Errorf("%q", got)
		}
	})
}

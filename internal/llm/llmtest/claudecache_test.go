package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// claudeRequest returns a request for a prompt written as "tools
// system
// messages": blocks of 1,000 tokens, one letter each. "!" after a letter is a breakpoint. In messages, "u" begins a
// user turn, "a" an assistant turn, "(" is a call, ")" a result and "~" thinking.
func claudeRequest(model, prompt string, settings ...string) Request {
	parts := strings.Split(prompt, "|")
	blocks := func(letters string) (out []object) {
		for _, letter := range letters {
			if letter == '!' {
				out[len(out)-1]["cache_control"] = object{"type": "ephemeral"}
				continue
			}
			kind := map[rune]string{'(': "tool_use", ')': "tool_result", '~': "thinking"}[letter]
			if kind == "" {
				kind = "text"
			}
			// The braces, names and the type are part of the 4,000 bytes.
			b := object{"type": kind, "text": ""}
			head, _ := json.Marshal(b)
			b["text"] = strings.Repeat(string('a'+letter%26), 1000*bytesPerToken-len(head))
			out = append(out, b)
		}
		return out
	}
	body := object{"tools": blocks(parts[0]), "system": blocks(parts[1])}
	var turns []object
	for _, turn := range strings.FieldsFunc(strings.NewReplacer("u", " u", "a", " a").Replace(parts[2]),
		func(r rune) bool { return r == ' ' }) {
		turns = append(turns, object{"role": map[byte]string{'u': "user", 'a': "assistant"}[turn[0]], "content": blocks(turn[1:])})
	}
	body["messages"] = turns
	for i := 0; i+1 < len(settings); i += 2 {
		body[settings[i]] = json.RawMessage(settings[i+1])
	}
	data, _ := json.Marshal(body)
	return Request{Wire: Anthropic, Model: model, Body: data}
}

func TestClaudeCache(t *testing.T) {
	t.Parallel()
	const sonnet, opus46 = "claude-sonnet-5-5", "claude-opus-4-6"
	many := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name     string
		requests []Request
		want     []string // for each: read, written, rest; in thousands of tokens
	}{
		{"a conversation that grows", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "t!|s!|um!axuy!"),
		}, []string{"0 3 0", "3 2 0"}},
		{"what is behind the last breakpoint is not written", []Request{
			claudeRequest(sonnet, "t|s!|um"), claudeRequest(sonnet, "t|s!|uother"),
		}, []string{"0 2 1", "2 0 5"}},
		{"no breakpoint", []Request{claudeRequest(sonnet, "t|s|um"), claudeRequest(sonnet, "t|s|um")}, []string{"0 0 3", "0 0 3"}},
		{"a tool that changes takes all with it", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "z!|s!|um!"),
		}, []string{"0 3 0", "0 3 0"}},
		{"a system text that changes leaves the tools", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "t!|z!|um!"),
		}, []string{"0 3 0", "1 2 0"}},
		{"tool_choice leaves tools and system", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "t!|s!|um!", "tool_choice", `{"type":"none"}`),
		}, []string{"0 3 0", "2 1 0"}},
		{"thinking leaves tools and system", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "t!|s!|um!", "thinking", `{"type":"adaptive"}`),
		}, []string{"0 3 0", "2 1 0"}},
		{"a format leaves nothing", []Request{
			claudeRequest(sonnet, "t!|s!|um!"), claudeRequest(sonnet, "t!|s!|um!", "output_config", `{"format":{"type":"json_schema"}}`),
		}, []string{"0 3 0", "0 3 0"}},
		{"another model has nothing", []Request{claudeRequest(sonnet, "t!|s!|um!"), claudeRequest("claude-opus-5", "t!|s!|um!")},
			[]string{"0 3 0", "0 3 0"}},
		{"too short for the model", []Request{claudeRequest(opus46, "t!|s!|um!"), claudeRequest(opus46, "t!|s!|um!")},
			[]string{"0 0 3", "0 0 3"}},
		{"long enough for the model", []Request{claudeRequest(opus46, "t!|s!|umxyz!"), claudeRequest(opus46, "t!|s!|umxyz!")},
			[]string{"0 6 0", "6 0 0"}},
		// "Turn 3: 35 blocks, breakpoint on block 35. The system checks 20 positions (blocks 35 through
		// 16) and finds nothing. The turn-2 entry at block 15 is one position outside the window."
		{"20 positions back", []Request{
			claudeRequest(sonnet, "||u"+many(15)+"!"), claudeRequest(sonnet, "||u"+many(34)+"!"), claudeRequest(sonnet, "||u"+many(54)+"!"),
		}, []string{"0 15 0", "15 19 0", "0 54 0"}},
		{"a second breakpoint looks further", []Request{
			claudeRequest(sonnet, "||u"+many(15)+"!"), claudeRequest(sonnet, "||u"+many(15)+"!"+many(20)+"!"),
		}, []string{"0 15 0", "15 20 0"}},
		{"calls of one reply are one position, and their results", []Request{
			claudeRequest(sonnet, "||um!"), claudeRequest(sonnet, "||um"+"a"+strings.Repeat("(", 30)+"u"+strings.Repeat(")", 30)+"!"),
		}, []string{"0 1 0", "1 60 0"}},
		{"earlier thoughts are shown to newer models", []Request{
			claudeRequest(sonnet, "||um!a~(u)!"), claudeRequest(sonnet, "||uma~(u)!axuy!"),
		}, []string{"0 4 0", "4 2 0"}},
		{"and not to older ones", []Request{
			claudeRequest("claude-sonnet-4-5", "||um!a~(u)!"), claudeRequest("claude-sonnet-4-5", "||uma~(u)!axuy!"),
		}, []string{"0 4 0", "0 5 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, counted(NewClaudeCache(), inBlocks, tt.requests...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// inBlocks is the unit of these tests, in tokens.
const inBlocks = 1000

// counted returns a cache's counts for requests: read, written, and the rest, in a unit.
func counted(c interface{ take(Request) usage }, unit int, requests ...Request) (out []string) {
	for _, req := range requests {
		u := c.take(req)
		out = append(out, fmt.Sprint(u.Details.Cached/unit, u.Details.Written/unit, (u.Prompt-u.Details.Cached-u.Details.Written)/unit))
	}
	return out
}

// TestClaudeCacheForgets checks that an entry lives for five minutes after its last use.
func TestClaudeCacheForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, req := NewClaudeCache(), claudeRequest("claude-opus-5", "t|s|um!")
		got := counted(c, inBlocks, req)
		for range 2 {
			time.Sleep(4 * time.Minute)
			got = append(got, counted(c, inBlocks, req)...)
		}
		time.Sleep(6 * time.Minute)
		if got = append(got, counted(c, inBlocks, req)...); !slices.Equal(got, []string{"0 3 0", "3 0 0", "3 0 0", "0 3 0"}) {
			t.Errorf("%q", got)
		}
	})
}

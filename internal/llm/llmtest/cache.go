package llmtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// PromptCache simulates a provider's prompt cache: for each request it counts the longest prefix that it has seen. A
// token is four bytes here.
type PromptCache struct {
	least, step int // tokens

	mu   sync.Mutex
	seen []string
}

// NewPromptCache returns a cache without prefixes shorter than least tokens, and with lengths in steps of step tokens.
// OpenAI uses 1,024 and 128: "Caching is enabled automatically for prompts that are 1024 tokens or longer", "exact
// prefix matches", "images and tools […] must be identical", and the schema of structured output "serves as a prefix to
// the system message"; hits come in increments of 128 tokens.
// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-22)
func NewPromptCache(least, step int) *PromptCache { return &PromptCache{least: least, step: step} }

// Read returns the number of tokens in a prompt and how many of them come from the cache. It then adds the prompt to
// the cache.
func (c *PromptCache) Read(prompt string) (tokens, cached int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, before := range c.seen {
		cached = max(cached, Shared(before, prompt)/bytesPerToken)
	}
	c.seen = append(c.seen, prompt)
	if cached -= cached % c.step; cached < c.least {
		cached = 0
	}
	return len(prompt) / bytesPerToken, cached
}

const bytesPerToken = 4

// Shared returns the length of the common prefix of two prompts, in bytes.
func Shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Script returns a script whose replies report the cached part of their requests. It is for OpenAI's wire format.
func (c *PromptCache) Script(script Script) Script {
	return reporting(script, func(req Request) usage {
		tokens, cached := c.Read(req.Prompt())
		return usage{Prompt: tokens, Details: &promptDetails{Cached: cached}}
	})
}

// reporting returns a script whose replies report the usage that take returns for their requests before they are
// answered.
func reporting(script Script, take func(Request) usage) Script {
	return func(req Request) Reply {
		use := take(req)
		reply := script(req)
		use.Completion = reply.tokens(req).Completion
		use.Total = use.Prompt + use.Completion
		reply.usage = &use
		return reply
	}
}

// promptDetails describes the input.
type promptDetails struct {
	Cached int `json:"cached_tokens"`
	// Written are tokens newly added to the cache, if the provider charges for that.
	Written int `json:"cache_write_tokens,omitempty"`
}

// unmark removes the marks for Anthropic's cache, because they move.
var unmark = strings.NewReplacer(`"cache_control":{"type":"ephemeral"},`, "", `,"cache_control":{"type":"ephemeral"}`, "")

// Prompt returns the part of a request that a model reads, in reading order: the format and the tools, the system text,
// the messages.
func (r Request) Prompt() string {
	head, said := r.prompt()
	return head + strings.Join(said, "")
}

// prompt returns the beginning of a prompt, and its messages.
func (r Request) prompt() (head string, said []string) {
	var body map[string]json.RawMessage
	var begins bytes.Buffer
	_ = json.Unmarshal([]byte(unmark.Replace(string(r.Body))), &body) // cannot fail: it was parsed before
	for _, key := range []string{"response_format", "text", "tools", "system", "systemInstruction", "instructions"} {
		begins.Write(body[key])
		begins.WriteByte('\n')
	}
	for _, key := range []string{"messages", "contents", "input"} {
		var messages []struct {
			Role    string            `json:"role"`
			Parts   []json.RawMessage `json:"parts"`
			Content json.RawMessage   `json:"content"`
		}
		var whole []json.RawMessage
		_ = json.Unmarshal(body[key], &messages)
		_ = json.Unmarshal(body[key], &whole)
		for i, m := range messages {
			if r.Wire == Anthropic {
				_ = json.Unmarshal(m.Content, &m.Parts)
			}
			if len(m.Parts) == 0 {
				m.Parts = whole[i : i+1]
			}
			for _, part := range m.Parts { // turns of Gemini and Claude grow
				said = append(said, m.Role+" "+string(part)+"\n")
			}
		}
	}
	return begins.String(), said
}

// BreakpointCache simulates OpenAI's prompt cache for GPT-5.6 and later: for each request it counts the tokens read
// from the cache and written to it. A token is four bytes here. The rules are documented in
// https://developers.openai.com/api/docs/guides/prompt-caching and the reference of prompt_cache_options (read
// 2026-11-23):
//
//   - "By default, OpenAI automatically chooses one implicit cache breakpoint", at the end of the
//     newest message of the user or a tool. Nothing else is written: there are no explicit ones here.
//   - Requests "look for the longest matching cached prefix available, working backward through
//     eligible breakpoints until they find a match": "up to the latest 80 breakpoints in the
//     conversation". A prefix matches as a whole, and is rounded to nothing.
//   - "You must set prompt_cache_key to use the more reliable matching": without, nothing is found here.
//   - The mode "explicit" has no implicit breakpoint.
//   - Prefixes of fewer than 1,024 tokens are not cached; entries live for 30 minutes.
type BreakpointCache struct {
	mu      sync.Mutex
	entries map[string]time.Time // by key, model and prefix: time of last use
}

const (
	breakpoints     = 80
	openAILeast     = 1024 // tokens
	openAIRemembers = 30 * time.Minute
)

// NewBreakpointCache returns an empty cache.
func NewBreakpointCache() *BreakpointCache { return &BreakpointCache{entries: map[string]time.Time{}} }

// Script returns a script whose replies report the cached part of their requests. It is for OpenAI's wire formats.
func (c *BreakpointCache) Script(script Script) Script {
	return reporting(script, c.take)
}

// take looks up a request and then writes it to the cache.
func (c *BreakpointCache) take(req Request) usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wish struct {
		Key     string                `json:"prompt_cache_key"`
		Options struct{ Mode string } `json:"prompt_cache_options"`
	}
	_ = json.Unmarshal(req.Body, &wish) // cannot fail: it was parsed before
	head, said := req.prompt()
	all := len(head+strings.Join(said, "")) / bytesPerToken
	use := usage{Prompt: all, Details: &promptDetails{}}
	if wish.Key == "" || wish.Options.Mode == "explicit" {
		return use
	}
	now, written := time.Now(), 0
	prefix := wish.Key + "\n" + req.Model + "\n"
	known := len(prefix)
	var ends []string // of the messages after which a breakpoint is possible
	prefix += head
	for _, message := range said {
		prefix += message
		if isInput(message) {
			ends = append(ends, prefix)
		}
	}
	for n, end := range slices.Backward(ends) {
		tokens := (len(end) - known) / bytesPerToken
		if len(ends)-n > breakpoints || tokens < openAILeast {
			break
		}
		written = max(written, tokens)
		if used, ok := c.entries[end]; ok && now.Sub(used) < openAIRemembers {
			c.entries[end], use.Details.Cached = now, tokens
			break
		}
	}
	if written > 0 {
		c.entries[ends[len(ends)-1]] = now
	}
	use.Details.Written = written - use.Details.Cached
	return use
}

// isInput reports whether a message is input for the model, and not the model's own.
func isInput(message string) bool {
	var item struct{ Role, Type string }
	_, part, _ := strings.Cut(message, " ")
	_ = json.Unmarshal([]byte(part), &item) // cannot fail: it was parsed before
	return item.Type == "function_call_output" || slices.Contains([]string{"user", "tool", "system", "developer"}, item.Role)
}

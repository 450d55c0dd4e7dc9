package llmtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
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

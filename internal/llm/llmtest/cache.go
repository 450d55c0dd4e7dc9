package llmtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// PromptCache counts what a provider would have had in its cache of each request: the longest
// beginning that it has seen. A token is four bytes here.
type PromptCache struct {
	least, step int // tokens

	mu   sync.Mutex
	seen []string
}

// NewPromptCache returns a cache that has nothing shorter than least tokens, and all else in
// steps. OpenAI's has 1,024 and 128: "Caching is enabled automatically for prompts that are 1024
// tokens or longer", "exact prefix matches", "images and tools […] must be identical", and the
// schema of structured output "serves as a prefix to the system message"; hits come in
// increments of 128 tokens.
// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-22)
func NewPromptCache(least, step int) *PromptCache { return &PromptCache{least: least, step: step} }

// Read returns how many tokens a prompt has, and how many of them come from the cache; then the
// cache has all of it.
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

// Shared is how many bytes two prompts have in common from their beginning on.
func Shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Script is a script whose replies report what the cache had of their requests. It is for the
// wire of OpenAI.
func (c *PromptCache) Script(script Script) Script {
	return reporting(script, func(req Request) usage {
		tokens, cached := c.Read(req.Prompt())
		return usage{Prompt: tokens, Details: &promptDetails{Cached: cached}}
	})
}

// reporting is a script whose replies report what a cache says of their requests, before they are answered.
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

// promptDetails says what the input was.
type promptDetails struct {
	Cached int `json:"cached_tokens"`
	// Written are tokens that the cache has from now on, where they are charged for.
	Written int `json:"cache_write_tokens,omitempty"`
}

// unmark takes the marks for Anthropic's cache away, which move.
var unmark = strings.NewReplacer(`"cache_control":{"type":"ephemeral"},`, "", `,"cache_control":{"type":"ephemeral"}`, "")

// Prompt is what a model reads of a request, in the order in which it does: the format and the
// tools, the system's text, what was said. All else of a request is no part of a prompt.
func (r Request) Prompt() string {
	head, said := r.prompt()
	return head + strings.Join(said, "")
}

// prompt is the beginning of a prompt, and the parts of what was said.
func (r Request) prompt() (head string, said []string) {
	var body map[string]json.RawMessage
	var begins bytes.Buffer
	_ = json.Unmarshal([]byte(unmark.Replace(string(r.Body))), &body) // it was read before
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
			for _, part := range m.Parts { // turns of Gemini's and Claude's grow
				said = append(said, m.Role+" "+string(part)+"\n")
			}
		}
	}
	return begins.String(), said
}

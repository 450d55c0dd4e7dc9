package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

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
		if heard(message) {
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

// heard reports whether a message is input for the model, and not the model's own.
func heard(message string) bool {
	var item struct{ Role, Type string }
	_, part, _ := strings.Cut(message, " ")
	_ = json.Unmarshal([]byte(part), &item) // cannot fail: it was parsed before
	return item.Type == "function_call_output" || slices.Contains([]string{"user", "tool", "system", "developer"}, item.Role)
}

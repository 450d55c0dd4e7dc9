package llmtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// ClaudeCache simulates Anthropic's prompt cache: for each request it counts the tokens read from the cache and written
// to it. A token is four bytes here. The rules are documented in
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read 2026-11-23):
//
//   - "Cache prefixes are created in the following order: tools, system, then messages." Each is
//     the whole of what stands before it, for one model. The format of structured output stands
//     before all, tool_choice and thinking before the messages.
//   - "Cache writes happen only at your breakpoint", of which a request has four at most.
//   - "The lookback window is 20 blocks. The system checks at most 20 positions per breakpoint,
//     counting the breakpoint itself as the first." A run of tool_use blocks is one position, and
//     so is a run of tool_result blocks.
//   - Shorter prefixes than the model's least are not cached, and no error is returned.
//   - An entry lives for five minutes from the start of the last request that wrote or read it.
//   - Models before Opus 4.5 and Sonnet 4.6, and Haiku up to 4.5, are shown no thoughts of turns
//     before the user spoke last.
type ClaudeCache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]time.Time // time of last use
}

const (
	lookback = 20 // positions
	lifetime = 5 * time.Minute
)

// NewClaudeCache returns an empty cache.
func NewClaudeCache() *ClaudeCache { return &ClaudeCache{entries: map[[sha256.Size]byte]time.Time{}} }

// Script returns a script whose replies report the cached part of their requests. It is for Anthropic's wire format.
func (c *ClaudeCache) Script(script Script) Script {
	return reporting(script, c.take)
}

// take looks up a request and then writes it to the cache.
func (c *ClaudeCache) take(req Request) usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocks := claudeBlocks(req)
	prompt := newClaudePrompt(req.Model, blocks)
	now := time.Now()
	read, written := 0, 0
	for i, b := range blocks {
		if b.marked && prompt.tokens[i] >= leastCached(req.Model) {
			read = max(read, c.find(blocks, prompt, i, now))
			written = prompt.tokens[i]
		}
	}
	for i, b := range blocks {
		if b.marked && prompt.tokens[i] >= leastCached(req.Model) {
			c.entries[prompt.hashes[i]] = now
		}
	}
	all := 0
	if n := len(blocks); n > 0 {
		all = prompt.tokens[n-1]
	}
	return usage{Prompt: all, Details: &promptDetails{Cached: read, Written: max(written-read, 0)}}
}

// find looks back from a breakpoint and returns the number of tokens of the entry that it finds.
func (c *ClaudeCache) find(blocks []claudeBlock, prompt claudePrompt, from int, now time.Time) int {
	positions := 0
	for i := from; i >= 0; i-- {
		if run := i < from && blocks[i].run != "" && blocks[i].run == blocks[i+1].run; !run {
			positions++
		}
		if positions > lookback {
			return 0
		}
		if used, ok := c.entries[prompt.hashes[i]]; ok && now.Sub(used) < lifetime {
			c.entries[prompt.hashes[i]] = now
			return prompt.tokens[i]
		}
	}
	return 0
}

// claudePrompt has the number of tokens up to the end of each block, with their hash.
type claudePrompt struct {
	tokens []int
	hashes [][sha256.Size]byte
}

func newClaudePrompt(model string, blocks []claudeBlock) (p claudePrompt) {
	size, hash := 0, sha256.New()
	fmt.Fprintln(hash, model)
	for _, b := range blocks {
		size += len(b.text)
		fmt.Fprintln(hash, b.before, len(b.text), string(b.text))
		p.tokens = append(p.tokens, size/bytesPerToken)
		p.hashes = append(p.hashes, [sha256.Size]byte(hash.Sum(nil)))
	}
	return p
}

// claudeBlock is a block of a prompt.
type claudeBlock struct {
	text   []byte // without its mark
	before string // its section
	run    string // the type of a block whose runs are one position
	marked bool
}

func claudeBlocks(req Request) (out []claudeBlock) {
	var body struct {
		Tools, System []json.RawMessage
		Messages      []struct {
			Role    string
			Content []json.RawMessage
		}
		Choice   json.RawMessage `json:"tool_choice"`
		Thinking json.RawMessage
		Output   struct {
			Effort string
			Format json.RawMessage
		} `json:"output_config"`
	}
	_ = json.Unmarshal(req.Body, &body) // cannot fail: it was parsed before
	for _, part := range body.Tools {
		out = append(out, newClaudeBlock("tools"+string(body.Output.Format), part))
	}
	for _, part := range body.System {
		out = append(out, newClaudeBlock("system"+string(body.Output.Format), part))
	}
	spoke := 0 // the turn of the user's last message
	for i, turn := range body.Messages {
		for _, part := range turn.Content {
			if turn.Role == "user" && kindOf(part) != "tool_result" {
				spoke = i
			}
		}
	}
	where := fmt.Sprintf("messages %s %s %s", body.Choice, body.Thinking, body.Output.Effort)
	for i, turn := range body.Messages {
		for _, part := range turn.Content {
			if i > spoke || keepsThoughts(req.Model) || kindOf(part) != "thinking" && kindOf(part) != "redacted_thinking" {
				out = append(out, newClaudeBlock(where+turn.Role, part))
			}
		}
	}
	return out
}

func newClaudeBlock(before string, part json.RawMessage) claudeBlock {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(part, &fields)
	b := claudeBlock{before: before, marked: fields["cache_control"] != nil}
	if kind := kindOf(part); kind == "tool_use" || kind == "tool_result" {
		b.run = kind
	}
	delete(fields, "cache_control")
	b.text, _ = json.Marshal(fields) // without the order of keys, which is always the SDK's
	return b
}

func kindOf(part json.RawMessage) string {
	var block struct{ Type string }
	_ = json.Unmarshal(part, &block)
	return block.Type
}

// leastCached is the length of the shortest prefix that a model caches, in tokens: "512 tokens for Claude Fable 5.1,
// Mythos 5.1, Opus 5.5, Opus 5, Sonnet 5.5, Fable 5, Mythos 5, and Haiku 5.5; 2,048 for Mythos Preview, Opus 4.7 and
// Haiku 3.5; 4,096 for Opus 4.6, Opus 4.5 and Haiku 4.5; 1,024 for Opus 4.8, Sonnet 5, Sonnet 4.6, Sonnet 4.5 […]".
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations (read 2026-11-23)
func leastCached(model string) int {
	switch c := llm.ParseClaude(model); {
	case c.Family == "sonnet" && c.Version < 505, c.Family == "opus" && c.Version < 405, c.Version == 408:
		return 1024
	case c.Version == 407, c.Version == 305:
		return 2048
	case c.Version < 500:
		return 4096
	}
	return 512
}

// keepsThoughts reports whether a model sees its thinking from earlier turns.
func keepsThoughts(model string) bool {
	c := llm.ParseClaude(model)
	return c.Version >= 406 || c.Family == "opus" && c.Version == 405
}

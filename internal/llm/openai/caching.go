package openai

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/inquest-dev/inquest/internal/llm"
)

// caching is what a request says to OpenAI's cache. Requests with one key go to one machine where they
// can; from GPT-5.6 on, "you must set prompt_cache_key to use the more reliable matching". These models
// write all of a prompt, and charge for that, unless they are to write up to explicit breakpoints alone.
// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-23)
type caching struct {
	Key     string          `json:"prompt_cache_key,omitempty"`
	Options *cachingOptions `json:"prompt_cache_options,omitempty"`
}

type cachingOptions struct {
	Mode string `json:"mode"`
}

// caching leaves out what a service may refuse: compatible ones, and Azure's dated versions, may not know the key, and
// nobody but OpenAI's newer models the options.
func (c *Client) caching(req llm.Request) (out caching) {
	own := c.at("openai.com")
	keyed := own || c.responses || c.azure == "" && c.at("openai.azure.com", "services.ai.azure.com")
	switch {
	case req.Conversation != "" && keyed:
		sum := sha256.Sum256([]byte(req.Conversation)) // a key has 64 characters at most, and is shown at OpenAI's
		out.Key = hex.EncodeToString(sum[:16])
	case req.Conversation == "" && own && llm.OpenAIChargesWrites(req.Model):
		out.Options = &cachingOptions{Mode: "explicit"}
	}
	return out
}

package openai

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/inquest-dev/inquest/internal/llm"
)

// caching holds the parameters for OpenAI's cache. Requests with the same key go to the same machine if possible; from
// GPT-5.6 on, "you must set prompt_cache_key to use the more reliable matching". These models write the whole prompt to
// the cache, and charge for that, unless the request allows only explicit breakpoints.
// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-23)
type caching struct {
	Key     string          `json:"prompt_cache_key,omitempty"`
	Options *cachingOptions `json:"prompt_cache_options,omitempty"`
}

type cachingOptions struct {
	Mode string `json:"mode"`
}

// caching omits parameters that a service may refuse. Compatible services and Azure's dated versions may not know the
// key, and only OpenAI's newer models know the options.
func (c *Client) caching(req llm.Request) (out caching) {
	own := c.at("openai.com")
	keyed := own || c.responses || c.azure == "" && c.at("openai.azure.com", "services.ai.azure.com")
	switch {
	case req.Conversation != "" && keyed:
		sum := sha256.Sum256([]byte(req.Conversation)) // at most 64 characters, and visible to OpenAI
		out.Key = hex.EncodeToString(sum[:16])
	case req.Conversation == "" && own && llm.OpenAIChargesWrites(req.Model):
		out.Options = &cachingOptions{Mode: "explicit"}
	}
	return out
}

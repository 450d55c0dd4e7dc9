package outgoing

import (
	"regexp"

	"github.com/inquest-dev/inquest/internal/agent"
)

// lessons are what refusals say about servers that nobody has described: proxies, and models under names of one's own.
var lessons = []struct {
	refusal *regexp.Regexp
	learn   func(*agent.Dialect)
}{
	// LiteLLM in front of Bedrock: "Bedrock doesn't support tool_choice=none."
	{regexp.MustCompile(`(?i)tool_?choice`), func(d *agent.Dialect) { d.RefusesNone = true }},
	// Templates of vLLM and llama.cpp, and mistral-common: "Conversation roles must alternate user/assistant/…",
	// "Unexpected role 'user' after role 'tool'".
	{regexp.MustCompile(`(?i)roles must alternate|unexpected role .* after role`), func(d *agent.Dialect) { d.Alternates = true }},
	// Groq: "json mode cannot be combined with tool/function calling".
	{regexp.MustCompile(`(?i)(?:json|response.?format|mime type).*\btool|\btool.*(?:json|response.?format|mime type)`),
		func(d *agent.Dialect) { d.PlainBesideTools = true }},
	// OpenAI and Azure: "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024".
	{regexp.MustCompile(`(?i)description'?: string too long`), func(d *agent.Dialect) { d.MaxDescription = maxDescription }},
	// The same: "Invalid 'tools': array too long. Expected an array with maximum length 128".
	{regexp.MustCompile(`(?i)'tools': array too long`), func(d *agent.Dialect) { d.MaxTools = maxTools }},
}

// OpenAI's limits, also behind gateways.
// https://github.com/getsentry/sentry-mcp/issues/106, https://github.com/0x4m4/hexstrike-ai/issues/29
const (
	maxDescription = 1024 // characters
	maxTools       = 128
)

// Learn returns the dialect of a server that has refused a request with these words. ok is false if they say nothing
// new about it, so that asking again would change nothing.
func Learn(d agent.Dialect, refusal string) (_ agent.Dialect, ok bool) {
	for _, lesson := range lessons {
		learned := d
		if lesson.learn(&learned); learned != d && lesson.refusal.MatchString(refusal) {
			return learned, true
		}
	}
	return d, false
}

package config

import (
	"github.com/inquest-dev/inquest/value"
)

// Timeouts limit an agent's work. Zero means not set.
type Timeouts struct {
	// Agent limits the whole work of one agent; time paused does not count.
	Agent value.Duration `yaml:"agent" default:"none"`
	// Iteration limits one model call.
	Iteration value.Duration `yaml:"iteration"`
	// Tool limits one tool call.
	Tool value.Duration `yaml:"tool"`
	// StreamIdle is how long a model may pause in the middle of a reply.
	StreamIdle value.Duration `yaml:"stream_idle"`
	// Queue is how long a call to a server with a task_queue waits for a worker of that queue. After that,
	// the agent gets an error: no worker took the call.
	Queue value.Duration `yaml:"queue" default:"1m"`
	// Startup is how long an agent waits for its MCP servers to start and to list their tools, before it works without them,
	// at most 1h. Apart from the first seconds, this time does not count against other limits.
	Startup value.Duration `yaml:"startup" default:"3m"`
	// Outage is how long an agent waits for a provider that is unavailable or limits the rate, before it fails. This
	// time does not count against other limits. With a fallback provider, the agent waits only for rate limits: see
	// fallback_providers.
	Outage value.Duration `yaml:"outage" default:"4h; 1m with a fallback provider"`
	// Conclude is how long an agent may take to conclude from its findings after it has reached a time limit or a limit of
	// calls, tokens or cost. Then its calls are cancelled. The time to conclude is never longer than a time limit that
	// was reached. For the time limits of stages and investigations, the value under defaults applies.
	Conclude value.Duration `yaml:"conclude"`
}

// Compression limits the size of the conversation that a model gets.
type Compression struct {
	// CompressContext turns compression on.
	CompressContext *bool `yaml:"compress_context"`
	// MaxContextTokens is the size that the conversation must fit into.
	MaxContextTokens *int `yaml:"max_context_tokens" min:"1" unit:"tokens" default:"the model's own window"`
	// CompressionThreshold is the fraction of that size at which compression begins.
	CompressionThreshold *float64 `yaml:"compression_threshold" above:"0" max:"1"`
	// KeepRecentMessages is how many of the last messages are always kept unchanged.
	KeepRecentMessages *int `yaml:"keep_recent_messages" min:"0" unit:"messages"`
	// Strategy is how older messages are compressed.
	Strategy string `yaml:"strategy" enum:"compression strategy"`
}

// ToolSearch lets an agent with many tools look for tools when it needs them, instead of being offered all of them.
type ToolSearch struct {
	// Above is how many tools an agent may have before it has to search: see docs/how-to/give-agents-many-tools.md.
	Above *int `yaml:"above" min:"1" unit:"tools"`
}

// Summarization lets a model shorten results of a server's tools that are too large for a conversation. The store keeps
// the full result.
type Summarization struct {
	// Enabled turns summaries on.
	Enabled *bool `yaml:"enabled" default:"true"`
	// SizeThresholdTokens is the size above which results are shortened.
	SizeThresholdTokens *int `yaml:"size_threshold_tokens" min:"100" unit:"tokens" default:"5000"`
	// SummaryMaxTokenLimit is the maximum size of a summary.
	SummaryMaxTokenLimit *int `yaml:"summary_max_token_limit" min:"50" unit:"tokens" default:"1000"`
	// LLMProvider is the provider whose model writes the summaries.
	LLMProvider string `yaml:"llm_provider" default:"the provider in defaults.summarization, else the agent's"`
	// LLMBackend selects the way to reach that provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend" default:"the one in defaults.summarization with that provider, else the agent's"`
}

// Summarizer selects the model that shortens results, for servers that name no other provider.
type Summarizer struct {
	// LLMProvider is the provider whose model writes the summaries.
	LLMProvider string `yaml:"llm_provider" default:"the agent's"`
	// LLMBackend selects the way to reach that provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend" default:"the agent's, if the provider supports it"`
}

package config

import "github.com/inquest-dev/inquest/internal/plan"

// Timeouts limit an agent's work. Zero means not set.
type Timeouts struct {
	// Agent limits the whole work of one agent; time paused does not count.
	Agent plan.Duration `yaml:"agent" default:"none"`
	// Iteration limits one model call.
	Iteration plan.Duration `yaml:"iteration"`
	// Tool limits one tool call.
	Tool plan.Duration `yaml:"tool"`
	// StreamIdle is how long a model may be silent in the middle of a reply.
	StreamIdle plan.Duration `yaml:"stream_idle"`
	// Queue is how long a call to a server with a task_queue waits for a worker of that queue. After that, the agent is
	// told that no worker took the call.
	Queue plan.Duration `yaml:"queue" default:"1m"`
	// Outage is how long to wait for a provider that is unavailable or limits the rate, before the agent fails. This
	// time does not count against other limits. With a fallback provider, only rate limits are waited out: see
	// fallback_providers.
	Outage plan.Duration `yaml:"outage" default:"4h; 1m with a fallback provider"`
	// Conclude is how long agents have to conclude when a limit has ended their work. After a time limit they never get
	// longer than that limit itself. Calls that still run at the end of it are cancelled. For the time limits of a
	// stage and of an investigation, the value under defaults applies.
	Conclude plan.Duration `yaml:"conclude"`
}

// Compression limits the conversation that a model is shown (spec: conversation, "Compression").
type Compression struct {
	// CompressContext turns compression on.
	CompressContext *bool `yaml:"compress_context"`
	// MaxContextTokens is the size that the conversation must fit into.
	MaxContextTokens *int `yaml:"max_context_tokens" min:"1" unit:"tokens" default:"the model's own window"`
	// CompressionThreshold is the fraction of that size that may be used before anything is left out.
	CompressionThreshold *float64 `yaml:"compression_threshold" above:"0" max:"1"`
	// KeepRecentMessages is how many of the last messages are always kept unchanged.
	KeepRecentMessages *int `yaml:"keep_recent_messages" min:"0" unit:"messages"`
	// Strategy says what happens to the older part.
	Strategy string `yaml:"strategy" enum:"compression strategy"`
}

func (c Compression) plan() plan.Compression {
	return plan.Compression{
		Enabled:            value(c.CompressContext),
		MaxContextTokens:   value(c.MaxContextTokens),
		Threshold:          value(c.CompressionThreshold),
		KeepRecentMessages: value(c.KeepRecentMessages),
		Strategy:           c.Strategy,
	}
}

// value returns the value that p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

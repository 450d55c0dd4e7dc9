package config

import "github.com/inquest-dev/inquest/internal/plan"

// Timeouts bound an agent's work; 0 = not set.
type Timeouts struct {
	// Agent bounds the whole work of one agent; time paused does not count.
	Agent plan.Duration `yaml:"agent" default:"none"`
	// Iteration bounds one model call.
	Iteration plan.Duration `yaml:"iteration"`
	// Tool bounds one tool call.
	Tool plan.Duration `yaml:"tool"`
	// StreamIdle is how long a model may be silent in the middle of a reply.
	StreamIdle plan.Duration `yaml:"stream_idle"`
	// Queue is how long a tool of a server with a task_queue waits for a worker there;
	// then the agent is told that nobody came.
	Queue plan.Duration `yaml:"queue" default:"1m"`
	// Outage is how long a provider is waited for that is away or limits the rate, before the agent fails; the time does
	// not count. Where there is another one, only a limit of the rate is waited for: see fallback_providers.
	Outage plan.Duration `yaml:"outage" default:"4h; 1m with a fallback provider"`
	// Conclude is how long agents have to conclude when a limit has ended their work. After a time limit they never get
	// longer than that limit itself. Calls that still run at the end of it are cancelled. For the time limits of a stage and
	// of an investigation, the value under defaults applies.
	Conclude plan.Duration `yaml:"conclude"`
}

// Compression bounds the conversation that a model is shown (spec: conversation, "Compression").
type Compression struct {
	// CompressContext switches compression on.
	CompressContext *bool `yaml:"compress_context"`
	// MaxContextTokens is the window to fit into.
	MaxContextTokens *int `yaml:"max_context_tokens" min:"1" unit:"tokens" default:"the model's own window"`
	// CompressionThreshold is the part of the window that may be full before anything is left out.
	CompressionThreshold *float64 `yaml:"compression_threshold" above:"0" max:"1"`
	// KeepRecentMessages is how many of the last messages are kept as they are.
	KeepRecentMessages *int `yaml:"keep_recent_messages" min:"0" unit:"messages"`
	// Strategy says what becomes of the older part.
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

// value is what p points to, or zero.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

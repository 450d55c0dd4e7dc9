package config

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Timeouts bound an agent's work; 0 = not set.
type Timeouts struct {
	Agent      agent.Duration `yaml:"agent"`
	Iteration  agent.Duration `yaml:"iteration"`
	Tool       agent.Duration `yaml:"tool"`
	StreamIdle agent.Duration `yaml:"stream_idle"`
}

// Compression bounds the conversation that a model is shown (spec: conversation, "Compression").
type Compression struct {
	CompressContext      *bool    `yaml:"compress_context"`
	MaxContextTokens     *int     `yaml:"max_context_tokens"` // not set = the model's own window
	CompressionThreshold *float64 `yaml:"compression_threshold"`
	KeepRecentMessages   *int     `yaml:"keep_recent_messages"`
	Strategy             string   `yaml:"strategy"`
}

func (c Compression) validate(p path, v *validator) {
	v.atLeast(p.key("max_context_tokens"), c.MaxContextTokens, 1)
	if t := c.CompressionThreshold; t != nil && !(*t > 0 && *t <= 1) { // NaN is neither
		v.errorf(p.key("compression_threshold"), "compression_threshold must be between 0 and 1")
	}
	if n := c.KeepRecentMessages; n != nil && *n < 0 {
		v.errorf(p.key("keep_recent_messages"), "keep_recent_messages must be non-negative")
	}
	v.oneOf(p.key("strategy"), c.Strategy, "window", "truncate", "summarize")
}

func (c Compression) plan() agent.Compression {
	return agent.Compression{
		Enabled:            value(c.CompressContext),
		MaxContextTokens:   value(c.MaxContextTokens),
		Threshold:          value(c.CompressionThreshold),
		KeepRecentMessages: value(c.KeepRecentMessages),
		Strategy:           c.Strategy,
	}
}

// Shell limits the shell tool of the types that have one.
type Shell struct {
	Enabled   *bool          `yaml:"enabled"`
	Allow     []string       `yaml:"allow"` // names of commands; none = all
	Timeout   agent.Duration `yaml:"timeout"`
	MaxOutput *int           `yaml:"max_output"` // bytes
	Dir       string         `yaml:"dir"`
	Risk      agent.Risk     `yaml:"risk"`
}

func (s Shell) validate(p path, v *validator) {
	v.atLeast(p.key("max_output"), s.MaxOutput, 1)
	v.risk(p.key("risk"), s.Risk)
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, " \t\r\n/") {
			v.errorf(p.key("allow").index(i), "must be the bare name of a command, got %q", command)
		}
	}
}

// settings are what agents inherit. An empty list allows nothing more than the inherited one.
func (s Shell) settings() Shell {
	s.Allow = notEmpty(s.Allow)
	return s
}

// plan is nil unless the shell is switched on.
func (s Shell) plan() *agent.Shell {
	if !value(s.Enabled) {
		return nil
	}
	return &agent.Shell{
		Allow: s.Allow, Timeout: s.Timeout, MaxOutput: value(s.MaxOutput), Dir: s.Dir, Risk: s.Risk,
	}
}

// value is what p points to, or zero.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

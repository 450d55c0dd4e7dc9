package config

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

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
	// Outage is how long a provider is waited for that is away or limits the rate, before
	// the next one is asked or, if there is none, the agent fails; the time does not count.
	Outage plan.Duration `yaml:"outage" default:"4h; 1m with a fallback provider"`
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

// Shell limits the shell tool of the types that have one.
type Shell struct {
	// Enabled switches the shell on.
	Enabled *bool `yaml:"enabled"`
	// Allow lists the commands that may be run, by their bare names.
	Allow []string `yaml:"allow" default:"all commands"`
	// AllowOptions says which options the commands in allow may have: those that start no
	// other program and write no file, as far as that is known (docs/shell.md), or all.
	AllowOptions string `yaml:"allow_options" enum:"allowed options" default:"checked"`
	// Timeout bounds one command.
	Timeout plan.Duration `yaml:"timeout"`
	// MaxOutput is where the output of a command is cut.
	MaxOutput *int `yaml:"max_output" min:"1" unit:"bytes"`
	// Dir is where commands run, and their home: nobody else may write there.
	Dir string `yaml:"dir" default:"a new folder for each command, removed afterwards"`
	// Confine has commands write nowhere but in their folder. Where that cannot be had (it
	// needs Linux 6.2), required refuses them.
	Confine plan.Confinement `yaml:"confine" enum:"confinement" default:"never"`
	// Network lets commands open sockets. Where it cannot be taken from them (it needs Linux
	// on amd64 or arm64), false refuses them.
	Network *bool `yaml:"network" default:"true"`
	// Risk is what commands may do to the world.
	Risk agent.Risk `yaml:"risk" enum:"risk"`
}

func (s Shell) validate(p path, v *validator) {
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, " \t\r\n/") {
			v.Errorf(p.Key("allow").Index(i), "must be the bare name of a command, got %q", command)
		}
	}
	if !v.BuiltIn(p) {
		s.warn(p, v)
	}
}

// shell plans the shell; nil unless it is switched on.
func (c *Config) shell(s Shell) *plan.Shell {
	if !value(s.Enabled) {
		return nil
	}
	return &plan.Shell{
		Allow: s.Allow, AllOptions: s.AllowOptions == optionsAll, Timeout: s.Timeout, MaxOutput: value(s.MaxOutput), Dir: s.Dir, Risk: s.Risk,
		Confine: s.Confine, Offline: s.offline(),
		Masking: c.Defaults.AlertMasking.plan(),
	}
}

// value is what p points to, or zero.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

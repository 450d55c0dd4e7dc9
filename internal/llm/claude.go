package llm

import (
	"regexp"
	"strconv"
)

// Claude is a Claude model, parsed from its name: its family, and its version as major times 100 plus minor. The zero
// value is any other model, or an unclear name. Sources for the features here and below:
// https://platform.claude.com/docs/en/build-with-claude/thinking, …/effort, …/preserved-thinking/prefix-checks and the
// models' own pages (2026-11-22).
type Claude struct {
	Family  string
	Version int
}

// claudeName matches both orders, "claude-opus-4-5-20251101" and "claude-3-7-sonnet-latest", also behind a proxy
// ("anthropic/claude-opus-4.5"). An eight-digit date is not a version.
var claudeName = regexp.MustCompile(`claude-(?:(opus|sonnet|haiku|fable|mythos)-(?:(\d{1,2})(?:[-.](\d{1,2}))?|preview)|` +
	`(\d)(?:[-.](\d))?-(opus|sonnet|haiku))(?:\D|$)`)

// ParseClaude parses a model's name.
func ParseClaude(model string) Claude {
	m := claudeName.FindStringSubmatch(model)
	if m == nil {
		return Claude{}
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n } // digits, or ""
	c := Claude{Family: m[1] + m[6], Version: number(m[2]+m[4])*100 + number(m[3]+m[5])}
	if c.Version == 0 { // the preview of Mythos
		c.Version = 407
	}
	return c
}

// Thinks reports whether a model can think.
func (c Claude) Thinks() bool { return c.Version >= 307 }

// Adapts reports whether a model decides by itself how much it thinks.
func (c Claude) Adapts() bool { return c.Version >= 406 }

// TakesBudget reports whether a model's thinking can have a budget.
func (c Claude) TakesBudget() bool { return c.Version >= 307 && c.Version <= 406 }

// ThinksUnasked reports whether a model thinks by default.
func (c Claude) ThinksUnasked() bool { return c.Version >= 500 || c.Family == "mythos" }

// AlwaysThinks reports whether a model cannot turn off thinking.
func (c Claude) AlwaysThinks() bool {
	return c.Family == "fable" || c.Family == "mythos" || c.Version >= 505 && c.Family != "haiku"
}

// PicksTokens reports whether a model refuses sampling parameters such as temperature.
func (c Claude) PicksTokens() bool { return c.Version >= 407 }

// BindsThoughts reports whether a model checks that nothing before its thinking has changed.
func (c Claude) BindsThoughts() bool {
	return c.Version >= 505 || c.Version >= 501 && (c.Family == "fable" || c.Family == "mythos")
}

// Efforts returns the levels that a model accepts.
func (c Claude) Efforts() []string {
	switch {
	case c.Family == "opus" && c.Version == 405:
		return []string{"low", "medium", "high"}
	case c.Version == 406, c.Version == 407 && c.Family == "mythos":
		return []string{"low", "medium", "high", "max"}
	case c.Version >= 407:
		return []string{"low", "medium", "high", "xhigh", "max"}
	}
	return nil
}

// MaxTokens is the maximum length of a reply if a request does not set one: the API requires a number, and all models
// of a generation accept this one.
func (c Claude) MaxTokens() int {
	switch {
	case c.Version == 0 || c.Version >= 307:
		return 32_000
	case c.Version == 305:
		return 8192
	}
	return 4096
}

// Longest is the longest possible reply, including thinking. Zero means unknown.
// https://platform.claude.com/docs/en/about-claude/models/overview (read 2026-11-23)
func (c Claude) Longest() int {
	switch {
	case c.Version >= 406:
		return 128_000
	case c.Family == "opus" && c.Version >= 400 && c.Version < 405:
		return 32_000
	case c.Version >= 307:
		return 64_000
	}
	return 0
}

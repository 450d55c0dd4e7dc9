package llm

import (
	"regexp"
	"strconv"
)

// Claude is what a model's name says of a Claude model: its family, and its version as major
// times 100 plus minor. The zero value is another model, or one whose name says nothing.
// What each can do, here and below: https://platform.claude.com/docs/en/build-with-claude/thinking,
// …/effort, …/preserved-thinking/prefix-checks and the models' own pages (2026-11-22).
type Claude struct {
	Family  string
	Version int
}

// claudeName matches both orders, "claude-opus-4-5-20251101" and "claude-3-7-sonnet-latest", also
// behind a proxy ("anthropic/claude-opus-4.5"). A date is no version: it has eight digits.
var claudeName = regexp.MustCompile(`claude-(?:(opus|sonnet|haiku|fable|mythos)-(?:(\d{1,2})(?:[-.](\d{1,2}))?|preview)|` +
	`(\d)(?:[-.](\d))?-(opus|sonnet|haiku))(?:\D|$)`)

// ParseClaude reads a model's name.
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

// TakesBudget reports whether a model's thoughts can have a budget.
func (c Claude) TakesBudget() bool { return c.Version >= 307 && c.Version <= 406 }

// ThinksUnasked reports whether a model thinks unless it is told not to.
func (c Claude) ThinksUnasked() bool { return c.Version >= 500 || c.Family == "mythos" }

// AlwaysThinks reports whether a model refuses not to think.
func (c Claude) AlwaysThinks() bool {
	return c.Family == "fable" || c.Family == "mythos" || c.Version >= 505 && c.Family != "haiku"
}

// PicksTokens reports whether a model refuses to be told how to pick tokens: a temperature.
func (c Claude) PicksTokens() bool { return c.Version >= 407 }

// BindsThoughts reports whether a model checks that nothing before its thoughts has changed.
func (c Claude) BindsThoughts() bool {
	return c.Version >= 505 || c.Version >= 501 && (c.Family == "fable" || c.Family == "mythos")
}

// Efforts are the levels that a model takes.
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

// MaxTokens is how long a reply may be where a request does not say: the API wants a number, and
// all models of a generation take this one.
func (c Claude) MaxTokens() int {
	switch {
	case c.Version == 0 || c.Version >= 307:
		return 32_000
	case c.Version == 305:
		return 8192
	}
	return 4096
}

// Longest is how long a reply can be at most, thoughts included; 0 = not known.
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

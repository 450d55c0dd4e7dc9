package llm

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/inquest-dev/inquest/internal/models"
)

// Claude is a Claude model, parsed from its name: its family, and its version as major times 100 plus minor. The zero
// value is any other model, or an unclear name.
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

// family is what a model accepts.
func (c Claude) family() models.Family {
	if c == (Claude{}) {
		return models.Family{}
	}
	return models.FamilyOf("anthropic", fmt.Sprintf("claude-%s-%d.%d", c.Family, c.Version/100, c.Version%100))
}

// Thinks reports whether a model can think.
func (c Claude) Thinks() bool { return c.family().Thinks }

// Adapts reports whether a model decides by itself how much it thinks.
func (c Claude) Adapts() bool { return c.family().Adaptive }

// TakesBudget reports whether a model's thinking can have a budget.
func (c Claude) TakesBudget() bool { return c.family().Budget.Most > 0 }

// ThinksUnasked reports whether a model thinks by default.
func (c Claude) ThinksUnasked() bool { return c.family().Unasked }

// PicksTokens reports whether a model refuses sampling parameters such as temperature.
func (c Claude) PicksTokens() bool { return c.family().NoTemperature }

// BindsThoughts reports whether a model checks that nothing before its thinking has changed.
func (c Claude) BindsThoughts() bool { return c.family().ChecksPrefix }

// MaxTokens is the maximum length of a reply if a request does not set one, because the API requires a number.
func (c Claude) MaxTokens() int { return cmp.Or(c.family().MaxTokens, 32_000) }

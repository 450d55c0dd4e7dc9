package config

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/inquest-dev/inquest/internal/plan"
)

// PricesAsOf is the day on which the list prices were looked up.
const PricesAsOf = "2026-11-22"

// listPrice is the price of a model, in US dollars for a million tokens, at the provider's standard tier. For Google it
// is the price of text and images.
type listPrice struct {
	models                               string // a regular expression
	input, cacheRead, cacheWrite, output float64
	long                                 plan.LongPrompts
}

// Surcharges for long prompts, for the models that have them.
// https://developers.openai.com/api/docs/models/gpt-5.6-luna, https://ai.google.dev/gemini-api/docs/pricing,
// https://platform.claude.com/docs/en/models/haiku-5-5/overview (read 2026-11-23)
var (
	longOpenAI = plan.LongPrompts{Over: 272_000, Input: 2, Output: 1.5}
	longGemini = plan.LongPrompts{Over: 200_000, Input: 2, Output: 1.5}
	longHaiku  = plan.LongPrompts{Over: 100_000, Input: 5, Output: 5}
	none       plan.LongPrompts
)

// The sources: https://platform.claude.com/docs/en/about-claude/pricing and the models' pages,
// https://developers.openai.com/api/docs/pricing, https://ai.google.dev/gemini-api/docs/pricing.
var priceLists = map[string][]listPrice{
	"anthropic": {
		{`claude-(fable|mythos)-5-1`, 10, 0.25, 12.50, 50, none},
		{`claude-(fable|mythos)-5`, 10, 1, 12.50, 50, none},
		{`claude-opus-5-5`, 4, 0.20, 5, 20, none},
		{`claude-opus-(5|4-[5-8])`, 5, 0.50, 6.25, 25, none},
		{`claude-opus-4(-[01])?`, 15, 1.50, 18.75, 75, none},
		{`claude-sonnet-5-5`, 2, 0.10, 2.50, 10, none},
		{`claude-sonnet-5`, 2, 0.20, 2.50, 10, none},
		{`claude-sonnet-4(-[0-6])?|claude-3-7-sonnet`, 3, 0.30, 3.75, 15, none},
		{`claude-haiku-5-5`, 0.10, 0.01, 0.125, 0.50, longHaiku},
		{`claude-haiku-4-5`, 1, 0.10, 1.25, 5, none},
	},
	ProviderOpenAI: {
		{`gpt-6-astra`, 10, 1, 12.50, 50, longOpenAI},
		{`gpt-6\.[12]-sol`, 2, 0.10, 2.50, 10, longOpenAI},
		{`gpt-6-sol`, 2, 0.20, 2.50, 10, longOpenAI},
		{`gpt-6\.1-terra`, 1, 0.05, 1.25, 5, longOpenAI},
		{`gpt-6-luna`, 0.10, 0.01, 0.125, 0.50, longOpenAI},
		{`gpt-5\.6(-sol)?`, 4, 0.40, 5, 20, longOpenAI}, // "at least through November 21, 2026"; before that 5, 0.50, 6.25, 30
		{`gpt-5\.6-terra`, 2, 0.20, 2.50, 12, longOpenAI},
		{`gpt-5\.6-luna`, 0.20, 0.02, 0.25, 1.20, longOpenAI},
		{`gpt-5\.5`, 5, 0.50, 0, 30, longOpenAI},
		{`gpt-5\.4`, 2.50, 0.25, 0, 15, longOpenAI},
		{`gpt-5\.4-mini`, 0.75, 0.075, 0, 4.50, none},
		{`gpt-5\.2`, 1.75, 0.175, 0, 14, none},
		{`gpt-5(\.1)?`, 1.25, 0.125, 0, 10, none},
		{`gpt-5-mini`, 0.25, 0.025, 0, 2, none},
		{`gpt-5-nano`, 0.05, 0.005, 0, 0.40, none},
		{`gpt-4\.1`, 2, 0.50, 0, 8, none},
		{`gpt-4\.1-mini`, 0.40, 0.10, 0, 1.60, none},
		{`gpt-4\.1-nano`, 0.10, 0.025, 0, 0.40, none},
		{`gpt-4o`, 2.50, 1.25, 0, 10, none},
		{`gpt-4o-mini`, 0.15, 0.075, 0, 0.60, none},
	},
	ProviderGoogle: {
		{`gemini-3\.8-flash`, 0.75, 0.075, 0, 3.75, none}, // until 2026-12-31, and twice that afterwards
		{`gemini-3\.6-flash`, 1.50, 0.15, 0, 7.50, none},
		{`gemini-3\.5-flash-lite`, 0.30, 0.03, 0, 2.50, none},
		{`gemini-3\.1-pro(-preview)?`, 2, 0.20, 0, 12, longGemini},
		{`gemini-3\.1-flash-lite(-preview)?`, 0.25, 0.025, 0, 1.50, none},
		{`gemini-3-flash(-preview)?`, 0.50, 0.05, 0, 3, none},
		{`gemini-2\.5-pro`, 1.25, 0.125, 0, 10, longGemini},
		{`gemini-2\.5-flash`, 0.30, 0.03, 0, 2.50, none},
		{`gemini-2\.5-flash-lite`, 0.10, 0.01, 0, 0.40, none},
	},
}

// listPrices returns the prices of a well-known model, also of a dated version ("gpt-4o-2024-08-06"). Other models have
// the zero value.
func listPrices(provider, model string) Prices {
	for n, p := range priceLists[provider] {
		if pricedModels()[provider][n].MatchString(model) {
			out := Prices{Input: price(p.input), Output: price(p.output), CacheRead: price(p.cacheRead), CacheWrite: price(p.cacheWrite)}
			if long := p.long; long.Over > 0 {
				out.LongPrompts = LongPrompts{Over: &long.Over, Input: &long.Input, Output: &long.Output}
			}
			return out
		}
	}
	return Prices{}
}

// ListPrices returns a model's list prices for input and output as YAML: {input: 1, output: 5}, in US dollars for a
// million tokens. It returns an empty string for a model without list prices.
func ListPrices(providerType, model string) string {
	p := listPrices(providerType, model)
	if p == (Prices{}) {
		return ""
	}
	return fmt.Sprintf("{input: %g, output: %g}", value(p.Input), value(p.Output))
}

// pricedModels returns patterns for the models of the lists. They are compiled once, because configurations are checked
// often.
var pricedModels = sync.OnceValue(func() map[string][]*regexp.Regexp {
	all := map[string][]*regexp.Regexp{}
	for provider, prices := range priceLists {
		for _, p := range prices {
			all[provider] = append(all[provider], regexp.MustCompile(`^(models/)?(`+p.models+`)(-latest|-20\d\d-?\d\d-?\d\d)?$`))
		}
	}
	return all
})

// price returns nil if a kind of token has no separate price.
func price(dollars float64) *float64 {
	if dollars == 0 {
		return nil
	}
	return &dollars
}

func (p Prices) plan() plan.Prices {
	return plan.Prices{
		Input: value(p.Input), Output: value(p.Output), CacheRead: value(p.CacheRead), CacheWrite: value(p.CacheWrite),
		Reasoning: value(p.Reasoning), Image: value(p.Image),
		LongPrompts: plan.LongPrompts{
			Over: value(p.LongPrompts.Over), Input: value(p.LongPrompts.Input), Output: value(p.LongPrompts.Output),
		},
	}
}

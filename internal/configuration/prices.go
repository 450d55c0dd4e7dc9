package configuration

import (
	"fmt"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/models"
	"github.com/inquest-dev/inquest/internal/plan"
)

// PricesAsOf is the day on which the list prices were looked up.
const PricesAsOf = "2026-11-22"

// listPrices returns the prices of a well-known model. Other models have the zero value.
func listPrices(provider, model string) config.Prices {
	p := models.ListPrice(provider, model)
	out := config.Prices{Input: price(p.Input), Output: price(p.Output), CacheRead: price(p.CacheRead), CacheWrite: price(p.CacheWrite)}
	if long := p.Long; long.Over > 0 {
		out.LongPrompts = config.LongPrompts{Over: &long.Over, Input: &long.Input, Output: &long.Output}
	}
	return out
}

// ListPrices returns a model's list prices for input and output as YAML: {input: 1, output: 5}, in US dollars for a
// million tokens. It returns an empty string for a model without list prices.
func ListPrices(providerType, model string) string {
	p := models.ListPrice(providerType, model)
	if p == (models.Price{}) {
		return ""
	}
	return fmt.Sprintf("{input: %g, output: %g}", p.Input, p.Output)
}

// price returns nil if a kind of token has no separate price.
func price(dollars float64) *float64 {
	if dollars == 0 {
		return nil
	}
	return &dollars
}

// plannedPrices returns the prices as the plan holds them. Prices that are given as 0 are known, and absent ones are not.
func plannedPrices(p config.Prices) plan.Prices {
	out := plan.Prices{
		Input: value(p.Input), Output: value(p.Output), CacheRead: value(p.CacheRead), CacheWrite: value(p.CacheWrite),
		Reasoning: value(p.Reasoning), Image: value(p.Image),
		LongPrompts: plan.LongPrompts{
			Over: value(p.LongPrompts.Over), Input: value(p.LongPrompts.Input), Output: value(p.LongPrompts.Output),
		},
	}
	given := p.Input != nil || p.Output != nil
	out.Free = given && out == plan.Prices{LongPrompts: out.LongPrompts}
	return out
}

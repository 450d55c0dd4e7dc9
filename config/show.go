package config

import (
	"fmt"

	"github.com/inquest-dev/inquest/internal/strict"
)

// ShowOptions say what of a configuration is shown.
type ShowOptions struct {
	// Chain is the chain to show, with all that it uses; "" = all that the user wrote.
	Chain string
	// Secrets shows what was written into env, headers and tokens. Without it
	// only their variables' names are shown.
	Secrets bool
}

// Show writes a configuration with everything inherited and, behind every
// value, where it comes from. It is YAML that loads as the same configuration.
// Values with variables are shown as they were written, not expanded.
// It is no method, so that programs that show nothing do not link it.
func Show(c *Config, opts ShowOptions) ([]byte, error) {
	text, _, err := c.show(opts)
	return text, err
}

// Explain lists the values that Show writes, in that order.
func Explain(c *Config, opts ShowOptions) ([]Shown, error) {
	_, values, err := c.show(opts)
	return values, err
}

func (c *Config) show(opts ShowOptions) ([]byte, []Shown, error) {
	if c.report.Findings.Failed() {
		return nil, nil, c.report.Findings
	}
	if _, ok := c.AgentChains[opts.Chain]; !ok && opts.Chain != "" {
		return nil, nil, planError("no chain named %q; there are: %s", opts.Chain, list(c.AgentChains))
	}
	v := c.view(opts.Chain)
	text, values, err := strict.Writer{Report: c.report, Origin: v.origin, Secrets: opts.Secrets}.Write(v.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("write the configuration: %w", err)
	}
	return text, values, nil
}

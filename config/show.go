package config

import (
	"bytes"
	"fmt"
	"reflect"

	"gopkg.in/yaml.v3"
)

// ShowOptions say what of a configuration is shown.
type ShowOptions struct {
	// Chain is the chain to show, with all that it uses; "" = all that the user wrote.
	Chain string
	// Secrets shows what was written into env, headers and tokens. Without it
	// only their variables' names are shown.
	Secrets bool
}

// Shown is one resolved value.
type Shown struct {
	Path  string `json:"path"`
	Value any    `json:"value"` // text, a number, a truth value, a list of texts, or what JSON has
	From  From   `json:"from"`
}

// Show writes a configuration with everything inherited and, behind every
// value, where it comes from. It is YAML that loads as the same configuration.
// Values with variables are shown as they were written, not expanded.
// It is no method, so that programs that show nothing do not link it.
func Show(c *Config, opts ShowOptions) ([]byte, error) {
	_, root, err := c.shower(opts)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return []byte("{}\n"), nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

// Explain lists the values that Show writes, in that order.
func Explain(c *Config, opts ShowOptions) ([]Shown, error) {
	s, _, err := c.shower(opts)
	if err != nil {
		return nil, err
	}
	return s.values, nil
}

// shower resolves what is asked for and turns it into YAML; nil = there is nothing.
func (c *Config) shower(opts ShowOptions) (*shower, *yaml.Node, error) {
	if c.report.findings.Failed() {
		return nil, nil, c.report.findings
	}
	if _, ok := c.AgentChains[opts.Chain]; !ok && opts.Chain != "" {
		return nil, nil, planError("no chain named %q; there are: %s", opts.Chain, list(c.AgentChains))
	}
	s := &shower{view: c.view(opts.Chain)}
	s.secrets = opts.Secrets
	return s, s.node(path{}, reflect.ValueOf(s.Config), field{}), nil
}

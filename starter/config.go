package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func configShowCommand(c *cli) *cobra.Command {
	var opts config.ShowOptions
	cmd := &cobra.Command{
		Use:     "show [DIR]",
		Example: "  starter config show inquest --chain shop",
		Short:   "Print it with all that is inherited, and where each value is from",
		Long: `Print a configuration with everything inherited, and behind every value where it
comes from: file and line, built-in, or the default of a type. It is YAML that
loads as the same configuration. Values with variables are printed as they were
written; of environments, headers and tokens only the variables' names are.
With --server and no DIR, it is the one in force there.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r, ok := c.api(); ok && len(args) == 0 && !cmd.Flags().Changed("config") && !opts.Secrets {
				text, values, err := r.Config(cmd.Context(), opts.Chain)
				return c.printConfig([]byte(text), values, err)
			}
			if len(args) > 0 {
				c.config = args[0]
			}
			return configShow(c, opts)
		},
	}
	c.configFlag(cmd)
	cmd.Flags().StringVar(&opts.Chain, "chain", "", "only this chain and what it uses, built-in chains included")
	cmd.Flags().BoolVar(&opts.Secrets, "secrets", false, "also print what was written into environments, headers and tokens")
	cmd.Flags().BoolVar(&c.json, "json", false, "print a list of values as JSON")
	return cmd
}

func configShow(c *cli, opts config.ShowOptions) error {
	src, err := c.source()
	if err != nil {
		return err
	}
	cfg, err := config.Load(src)
	if findings, ok := errors.AsType[config.Findings](err); ok {
		return errors.Join(printFindings(c, findings), usagef("the configuration is refused"))
	}
	if err != nil {
		return err
	}
	text, values, err := config.Show(cfg, opts)
	if err != nil {
		err = usagef("%w", err)
	}
	return c.printConfig(text, values, err)
}

func (c *cli) printConfig(text []byte, values []strict.Shown, err error) error {
	switch {
	case err != nil:
		return err
	case c.json:
		return c.printJSON(values)
	}
	_, err = fmt.Fprint(c.out, terminal.Clean(string(text)))
	return err
}

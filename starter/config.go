package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func configCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show what comes of a configuration", Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configShowCommand(c))
	return cmd
}

func configShowCommand(c *cli) *cobra.Command {
	var dir string
	var opts config.ShowOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [DIR]",
		Short: "Print a configuration with everything inherited, and where each value comes from",
		Long: `Print a configuration with everything inherited, and behind every value where it
comes from: file and line, built-in, or the default of a type. It is YAML that
loads as the same configuration. Values with variables are printed as they were
written; of environments, headers and tokens only the variables' names are.`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				dir = args[0]
			}
			return configShow(c, dir, opts, asJSON)
		},
	}
	c.configFlag(cmd, &dir)
	cmd.Flags().StringVar(&opts.Chain, "chain", "", "only this chain and what it uses, built-in chains included")
	cmd.Flags().BoolVar(&opts.Secrets, "secrets", false, "also print what was written into environments, headers and tokens")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a list of values as JSON")
	return cmd
}

func configShow(c *cli, dir string, opts config.ShowOptions, asJSON bool) error {
	src, err := c.source(dir)
	if err != nil {
		return err
	}
	cfg, err := config.Load(src)
	if findings, ok := errors.AsType[config.Findings](err); ok {
		return errors.Join(printFindings(c, dir, findings), usagef("the configuration is refused"))
	}
	if err != nil {
		return err
	}
	text, values, err := config.Show(cfg, opts)
	if err != nil {
		return usagef("%w", err)
	}
	if asJSON {
		return c.printJSON(values)
	}
	_, err = fmt.Fprint(c.out, terminal.Clean(string(text)))
	return err
}

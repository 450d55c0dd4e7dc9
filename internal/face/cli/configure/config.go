// Package configure has the commands for configurations, their agents and tools, and agents' memory.
package configure

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/strict"
)

// NewConfigShow returns the command config show.
func NewConfigShow(c *base.CLI) *cobra.Command {
	var opts configuration.ShowOptions
	cmd := &cobra.Command{
		Use:     "show [DIR]",
		Example: "  starter config show inquest --chain shop",
		Short:   "Print a configuration with inherited values and their sources",
		Long: `Print a configuration with all inherited values. Each value is followed by its source:
file and line, built-in, or the default of a type. The output is YAML that loads as the
same configuration, unless environments, headers or tokens have literal values: without
--secrets, these are hidden. Values with variables are printed as written. With --server and no
DIR, the server's current configuration is printed.`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r, ok := c.API(); ok && len(args) == 0 && !cmd.Flags().Changed("config") && !opts.Secrets {
				text, values, err := r.Config(cmd.Context(), opts.Chain)
				return printConfig(c, []byte(text), values, err)
			}
			if len(args) > 0 {
				c.Config = args[0]
			}
			return configShow(c, opts)
		},
	}
	c.ConfigFlag(cmd)
	cmd.Flags().StringVar(&opts.Chain, "chain", "", "only this chain (built-in or not) and the entries that it uses")
	cmd.Flags().BoolVar(&opts.Secrets, "secrets", false, "also print literal values of environment variables, headers and tokens")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the values as a JSON list")
	return cmd
}

func configShow(c *base.CLI, opts configuration.ShowOptions) error {
	src, err := c.Source()
	if err != nil {
		return err
	}
	cfg, err := configuration.Load(src)
	if findings, ok := errors.AsType[config.Findings](err); ok {
		return errors.Join(printFindings(c, findings), base.Usagef("the configuration is not valid"))
	}
	if err != nil {
		return err
	}
	text, values, err := configuration.Show(cfg, opts)
	if err != nil {
		err = base.Usagef("%w", err)
	}
	return printConfig(c, text, values, err)
}

func printConfig(c *base.CLI, text []byte, values []strict.Shown, err error) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return c.PrintJSON(values)
	}
	_, err = fmt.Fprint(c.Out, terminal.Clean(string(text)))
	return err
}

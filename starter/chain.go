package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func chainCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "chain", Short: "List and draw the chains of a configuration", Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(chainListCommand(c), chainGraphCommand(c))
	return cmd
}

func chainListCommand(c *cli) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the chains of a configuration, built-in ones included", Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return chainList(c, dir, asJSON) },
	}
	c.configFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func chainList(c *cli, dir string, asJSON bool) error {
	cfg, err := c.loadConfig(dir)
	if err != nil {
		return err
	}
	chains := cfg.Chains()
	if asJSON {
		return c.printJSON(chains)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHAIN\tALERT TYPES\tSTAGES\tDESCRIPTION")
	for _, chain := range chains {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", chain.Name, terminal.CleanLine(cmp.Or(strings.Join(chain.AlertTypes, ", "), "-")),
			strings.Join(chain.Stages, ", "), terminal.CleanLine(cmp.Or(chain.Description, "-")))
	}
	return w.Flush()
}

func chainGraphCommand(c *cli) *cobra.Command {
	var dir, chain, format string
	cmd := &cobra.Command{
		Use:   "graph --chain CHAIN",
		Short: "Draw a chain: its stages, and which way it goes when",
		Long: `Draw a chain: its stages with their agents, which way it goes when, and what it asks
people. What it does by itself is drawn; an agent whose result is JSON can also ask for
another pass or for people by the field "outcome". Agents with tools that act on the
world have what they may do without asking a person beside them. Mermaid is drawn by Git hosts and by
the Mermaid tools, dot by Graphviz; text is for terminals.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return chainGraph(c, dir, chain, format) },
	}
	c.configFlag(cmd, &dir)
	cmd.Flags().StringVar(&chain, "chain", "", "the chain to draw")
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot or text")
	_ = cmd.RegisterFlagCompletionFunc("chain", complete(c, &dir, chainNames))
	return cmd
}

func chainGraph(c *cli, dir, chain, format string) error {
	cfg, err := c.loadConfig(dir)
	if err != nil {
		return err
	}
	graph, err := config.GraphOf(cfg, chain)
	if err != nil {
		return usagef("--chain: %w", err)
	}
	var text string
	switch d := newDrawing(graph, unattendedOf(cfg, chain)); format {
	case "mermaid":
		text = d.mermaid()
	case "dot":
		text = d.dot()
	case "text":
		text = d.text()
	default:
		return usagef("--format %q: use mermaid, dot or text", format)
	}
	_, err = fmt.Fprint(c.out, text)
	return err
}

func chainNames(cfg *config.Config) (names []string) {
	for _, chain := range cfg.Chains() {
		names = append(names, chain.Name)
	}
	return names
}

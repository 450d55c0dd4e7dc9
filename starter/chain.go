package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/chaindraw"
)

func chainListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the chains of a configuration, built-in ones included", Args: exactly(),
		Example: "  starter chain list --config inquest",
		RunE:    func(*cobra.Command, []string) error { return chainList(c) },
	}
	c.configFlag(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func chainList(c *cli) error {
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	chains := cfg.Chains()
	if c.json {
		return c.printJSON(chains)
	}
	return printTable(c, "CHAIN\tALERT TYPES\tSTAGES\tDESCRIPTION", chains, func(chain config.ChainInfo) []any {
		return []any{
			chain.Name, cmp.Or(strings.Join(chain.AlertTypes, ", "), "-"), strings.Join(chain.Stages, ", "), cmp.Or(chain.Description, "-"),
		}
	})
}

func chainGraphCommand(c *cli) *cobra.Command {
	var chain, format string
	cmd := &cobra.Command{
		Use:     "graph --chain CHAIN",
		Example: "  starter chain graph --chain kubernetes",
		Short:   "Draw a chain: its stages, and which way it goes when",
		Long: `Draw a chain: its stages with their agents, which way it goes when, and what it asks
people. What it does by itself is drawn; an agent whose result is JSON can also ask for
another pass or for people by the field "outcome". Agents with tools that act on the
world have what they may do without asking a person beside them. Mermaid is drawn by Git hosts and by
the Mermaid tools, dot by Graphviz; svg is a picture, and text is for terminals.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return chainGraph(c, chain, format) },
	}
	c.configFlag(cmd)
	cmd.Flags().StringVar(&chain, "chain", "", "the chain to draw")
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot, svg or text")
	cmd.Flags().BoolVar(&c.json, "json", false, "print stages and edges as JSON")
	_ = cmd.RegisterFlagCompletionFunc("chain", complete(c, chainNames))
	formats := cobra.FixedCompletions([]string{"mermaid", "dot", "svg", "text"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("format", formats)
	return cmd
}

func chainGraph(c *cli, chain, format string) error {
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	graph, err := config.GraphOf(cfg, chain)
	if err != nil {
		return usagef("--chain: %w", err)
	}
	if c.json {
		return c.printJSON(graph)
	}
	var text string
	switch d := chaindraw.New(graph, chaindraw.UnattendedOf(cfg, chain)); format {
	case "mermaid":
		text = d.Mermaid()
	case "dot":
		text = d.Dot()
	case "svg":
		text = d.SVG()
	case "text":
		text = d.Text()
	default:
		return usagef("--format %q: use mermaid, dot, svg or text", format)
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

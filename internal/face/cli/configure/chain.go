package configure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/chaindraw"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// NewChainList returns the command chain list.
func NewChainList(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the chains of a configuration, including built-in ones", Args: base.Exactly(),
		Example: "  starter chain list --config inquest",
		RunE:    func(*cobra.Command, []string) error { return chainList(c) },
	}
	c.ConfigFlag(cmd)
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

func chainList(c *base.CLI) error {
	cfg, err := c.LoadConfig()
	if err != nil {
		return err
	}
	chains := cfg.Chains()
	if c.JSON {
		return c.PrintJSON(chains)
	}
	return base.PrintTable(c, "CHAIN\tALERT TYPES\tSTAGES\tDESCRIPTION", chains, func(chain configuration.ChainInfo) []any {
		return []any{
			chain.Name, cmp.Or(strings.Join(chain.AlertTypes, ", "), "-"), strings.Join(chain.Stages, ", "), cmp.Or(chain.Description, "-"),
		}
	})
}

// NewChainGraph returns the command chain graph.
func NewChainGraph(c *base.CLI) *cobra.Command {
	var chain, format string
	cmd := &cobra.Command{
		Use:     "graph --chain CHAIN",
		Example: "  starter chain graph --chain kubernetes",
		Short:   "Draw a chain: its stages, and the conditions between them",
		Long: `Draw a chain: its stages with their agents, the conditions between stages, and the questions
to people. The drawing shows only what the chain itself defines: an agent whose result is
JSON can also request another pass, or ask people, with the field "outcome". For agents
whose tools change something, it shows what they may do without asking a
person. Git hosts and the Mermaid tools render mermaid, Graphviz renders dot, svg is an
image, and text is for terminals.`,
		Args: base.Exactly(),
		RunE: func(*cobra.Command, []string) error { return chainGraph(c, chain, format) },
	}
	c.ConfigFlag(cmd)
	cmd.Flags().StringVar(&chain, "chain", "", "the chain to draw")
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot, svg or text")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print stages and edges as JSON")
	_ = cmd.RegisterFlagCompletionFunc("chain", base.Complete(c, ChainNames))
	formats := cobra.FixedCompletions([]string{"mermaid", "dot", "svg", "text"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("format", formats)
	return cmd
}

func chainGraph(c *base.CLI, chain, format string) error {
	cfg, err := c.LoadConfig()
	if err != nil {
		return err
	}
	graph, err := configuration.GraphOf(cfg, chain)
	if err != nil {
		return base.Usagef("--chain: %w", err)
	}
	if c.JSON {
		return c.PrintJSON(graph)
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
		return base.Usagef("--format %q: use mermaid, dot, svg or text", format)
	}
	_, err = fmt.Fprint(c.Out, text)
	return err
}

// ChainNames returns the names of the chains in a configuration.
func ChainNames(cfg *configuration.Config) (names []string) {
	for _, chain := range cfg.Chains() {
		names = append(names, chain.Name)
	}
	return names
}

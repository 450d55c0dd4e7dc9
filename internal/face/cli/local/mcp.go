package local

import (
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// newMCP returns the command mcp.
func newMCP(c *base.CLI) *cobra.Command {
	decide := config.DecideNever
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve editors and agents over the Model Context Protocol", Args: base.Exactly(),
		Example: `  claude mcp add inquest -- starter mcp
  starter mcp --config inquest --decide ask`,
		Long: `Serve the Model Context Protocol (MCP) on standard input and output, until the input ends.
Editors and agents start this command (docs/reference/mcp.md) to start, watch, steer and
read investigations as your operating system user. If Temporal and the workers' store are
not reachable from here, use the path /mcp of the HTTP API instead.

--decide sets which decisions are accepted for calls, confirmations and reviews that need a
person. never: none. ask: the editor asks the person, whose answer counts. trust: the
agent's decision counts; the agent states that the person agreed.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(c, cmd, decide) },
	}
	c.ConfigFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&decide, "decide", decide, "which decisions to accept: never (none), ask (the person's, in the editor) or "+
		"trust (the agent's)")
	return cmd
}

func serveMCP(c *base.CLI, cmd *cobra.Command, decide string) error {
	switch decide {
	case config.DecideNever, config.DecideAsk, config.DecideTrust:
	default:
		return base.Usagef("--decide %q: use never, ask or trust", decide)
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return err
	}
	who, err := base.LocalIdentity()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := api.New(ctx, api.Options{
		System: systemOf(c).Client, Config: func() *configuration.Config { return cfg }, WithoutHTTP: true,
		Logger: slog.New(slog.NewTextHandler(c.Err, nil)),
	})
	if err != nil {
		return err
	}
	if c.Typed() {
		c.Say("This command speaks MCP on standard input; an editor starts it (docs/reference/mcp.md):\n  claude mcp add inquest -- starter mcp")
	}
	server, as := s.MCP(who, decide)
	out := &mcpOutput{out: c.Out}
	return server.Run(as(ctx), &mcp.IOTransport{Reader: io.NopCloser(newMCPInput(c.In, out)), Writer: out})
}

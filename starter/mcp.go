package main

import (
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/api"
	"github.com/inquest-dev/inquest/internal/client"
)

func mcpCommand(c *cli) *cobra.Command {
	decide := config.DecideNever
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an editor or agent use Inquest, by the Model Context Protocol", Args: exactly(),
		Example: `  claude mcp add inquest -- starter mcp
  starter mcp --config inquest --decide ask`,
		Long: `Serve the Model Context Protocol on standard input and output, until that ends: for
editors and agents that start it (docs/reference/mcp.md). They start, watch, steer and read
investigations as the user of the operating system. Without Temporal and the workers'
store at hand, use the address /mcp of the HTTP API instead.

--decide says whose word counts on calls, confirmations and reviews that wait for a
person: never anybody's, with ask that of the person whom the editor asks, and with
trust that of the agent, which says that the person has said so.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(c, cmd, decide) },
	}
	c.configFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&decide, "decide", decide, "whose word counts on what waits for a person: never, ask or trust")
	return cmd
}

func serveMCP(c *cli, cmd *cobra.Command, decide string) error {
	switch decide {
	case config.DecideNever, config.DecideAsk, config.DecideTrust:
	default:
		return usagef("--decide is %q; it is never, ask or trust", decide)
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	who, err := client.LocalIdentity()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := api.New(ctx, api.Options{
		System: c.local(), Config: func() *config.Config { return cfg }, WithoutHTTP: true,
		Logger: slog.New(slog.NewTextHandler(c.err, nil)),
	})
	if err != nil {
		return err
	}
	if c.typed() {
		c.say("This speaks MCP on standard input, to an editor that starts it (docs/reference/mcp.md):\n  claude mcp add inquest -- starter mcp")
	}
	server, as := s.MCP(who, decide)
	out := &mcpOutput{out: c.out}
	return server.Run(as(ctx), &mcp.IOTransport{Reader: io.NopCloser(newMCPInput(c.in, out)), Writer: out})
}

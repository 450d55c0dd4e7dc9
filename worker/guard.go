package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/trust/webguard"
)

// guardCommand protects a separate Temporal UI. The one in dev has the guard built in.
func guardCommand() *cobra.Command {
	var listen, to string
	var names []string
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Protect a Temporal UI from cross-site requests",
		Long: `Protect a Temporal UI that has no login from requests by other websites. Requests are forwarded only
if they are addressed to localhost, an address of this host, or one of the given names, and
do not come from pages of other origins. Do not expose the UI itself.`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, err := url.Parse(to)
			if err != nil || target.Host == "" {
				return &command.UsageError{Err: fmt.Errorf("--to %q: expected the UI's URL", to)}
			}
			return guard(cmd.Context(), listen, webguard.Proxy(target, names...))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8233", "address to serve")
	cmd.Flags().StringVar(&to, "to", "", "URL of the UI")
	cmd.Flags().StringSliceVar(&names, "name", nil, "host name that browsers use, besides localhost and this host's addresses")
	return cmd
}

// guard serves until ctx ends.
func guard(ctx context.Context, listen string, handler http.Handler) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return &command.UsageError{Err: fmt.Errorf("--listen: %w", err)}
	}
	return command.Serve(ctx, &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}, listener)
}

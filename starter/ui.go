package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func uiCommand(c *cli) *cobra.Command {
	var base string
	var printed bool
	cmd := &cobra.Command{
		Use:   "ui [ID]",
		Short: "Open an investigation, or all of them, in Temporal's UI",
		Long: `Open an investigation, or all of them, in the browser, in Temporal's UI. Where there
is no terminal or no browser, or with --print, the link is printed alone.`,
		Example: `  starter ui
  starter ui first --print`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := c.meant(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			link, err := c.uiLink(base, id)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(c.out, terminal.CleanLine(link)); err != nil || printed || !terminal.IsTerminal(c.out) {
				return err
			}
			if err := command.OpenBrowser(link); err != nil {
				c.say("no browser could be opened: %v", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&base, "url", c.getenv("INQUEST_UI"),
		"where the UI is (default: http://127.0.0.1:8233, or Temporal Cloud's) [INQUEST_UI]")
	cmd.Flags().BoolVar(&printed, "print", false, "print the link only")
	return cmd
}

// uiLink returns the URL of an investigation in Temporal's UI, or of the list.
func (c *cli) uiLink(base, id string) (string, error) {
	opts, _, err := c.temporal()
	if err != nil {
		return "", err
	}
	fallback := "http://127.0.0.1:8233"
	if host, _, _ := strings.Cut(opts.HostPort, ":"); strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".temporal.io") {
		fallback = "https://cloud.temporal.io"
	}
	u, err := url.Parse(cmp.Or(base, fallback))
	if err != nil || u.Host == "" {
		return "", usagef("--url %q: give the URL of Temporal's UI", base)
	}
	u = u.JoinPath("namespaces", url.PathEscape(cmp.Or(opts.Namespace, sdk.DefaultNamespace)), "workflows")
	if id == "" {
		u.RawQuery = url.Values{"query": {fmt.Sprintf("WorkflowType=%q", workflows.TypeInvestigation)}}.Encode()
		return u.String(), nil
	}
	if workflowID, isID := workflows.WorkflowOf(id); isID {
		id = workflowID
	}
	return u.JoinPath(url.PathEscape(id)).String(), nil
}

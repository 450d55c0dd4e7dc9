package local

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// newUI returns the command ui.
func newUI(c *base.CLI) *cobra.Command {
	var site string
	var printed bool
	cmd := &cobra.Command{
		Use:   "ui [ID]",
		Short: "Open an investigation, or all of them, in Temporal's UI",
		Long: `Open an investigation, or the list of all investigations, in Temporal's UI in the browser.
Without a terminal or browser, or with --print, the command only prints the link.`,
		Example: `  starter ui
  starter ui first --print`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := c.Meant(cmd.Context(), base.First(args))
			if err != nil {
				return err
			}
			link, err := uiLink(c, site, id)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(c.Out, terminal.CleanLine(link)); err != nil || printed || !terminal.IsTerminal(c.Out) {
				return err
			}
			if err := command.OpenBrowser(link); err != nil {
				c.Say("could not open a browser: %v", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&site, "url", c.Getenv("INQUEST_UI"),
		"URL of the UI (default: http://127.0.0.1:8233, or Temporal Cloud's) [INQUEST_UI]")
	cmd.Flags().BoolVar(&printed, "print", false, "only print the link")
	return cmd
}

// uiLink returns the URL of an investigation in Temporal's UI, or of the list.
func uiLink(c *base.CLI, site, id string) (string, error) {
	opts, _, err := temporal(c)
	if err != nil {
		return "", err
	}
	fallback := "http://127.0.0.1:8233"
	if host, _, _ := strings.Cut(opts.HostPort, ":"); strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".temporal.io") {
		fallback = "https://cloud.temporal.io"
	}
	u, err := url.Parse(cmp.Or(site, fallback))
	if err != nil || u.Host == "" {
		return "", base.Usagef("--url %q: expected the URL of Temporal's UI", site)
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

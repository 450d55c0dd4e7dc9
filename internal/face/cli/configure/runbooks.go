package configure

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
)

// NewRunbooks returns the command runbooks.
func NewRunbooks(c *base.CLI) *cobra.Command {
	var project string
	var labels []string
	cmd := &cobra.Command{
		Use:   "runbooks",
		Short: "List the runbooks in the configured repository",
		Example: `  starter runbooks
  starter runbooks --label alertname=KubePodCrashLooping --label team=payments`,
		Long: `List the runbooks in the repository that system.runbooks.repo_url names. With --label, list
only those whose path contains a word of a label's value, best match first. Pass the URL of
a runbook to "starter run --runbook", or set it as the runbook of a chain.`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runbooks(cmd.Context(), c, project, labels) },
	}
	c.ConfigFlag(cmd)
	cmd.Flags().StringVar(&project, "project", "", "project whose runbooks are listed (default: "+agent.DefaultProject+")")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "label of an alert, KEY=VALUE; may be repeated")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

func runbooks(ctx context.Context, c *base.CLI, project string, labels []string) error {
	found, err := runbooksOf(ctx, c, project, labels)
	switch {
	case errors.Is(err, runbook.ErrNoRepository):
		return base.Usagef("%w", err)
	case err != nil:
		return err
	case c.JSON:
		return c.PrintJSON(found)
	case len(found) == 0:
		c.Say("no runbooks found")
		return nil
	}
	return base.PrintTable(c, "RUNBOOK\tURL", found, func(f runbook.Found) []any { return []any{f.Path, f.URL} })
}

func runbooksOf(ctx context.Context, c *base.CLI, project string, labels []string) ([]runbook.Found, error) {
	if r, ok := c.API(); ok {
		return r.Runbooks(ctx, project, labels)
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return nil, err
	}
	return runbook.New(cfg.Runbooks).List(ctx, project, labels)
}

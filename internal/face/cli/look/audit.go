package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// NewAudit returns the command audit.
func NewAudit(c *base.CLI) *cobra.Command {
	var filter record.ActFilter
	var since string
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Print the audit trail: who decided what, and when",
		Long: `Print the audit trail of one investigation or of all, oldest first. It records approval
requests, each decision with its channel, and the time and result of each call. It
also records answers, guidance, pauses, extensions, rules, starts and ends. --json prints
one row per line (JSON Lines), with its hash. Secrets are masked, as everywhere else.`,
		Example: `  starter audit lab
  starter audit --since 7d --who ada --json > audit.jsonl`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if filter.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			if len(args) > 0 {
				if filter.Investigation, err = c.Meant(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return printActs(cmd.Context(), c, filter)
		},
	}
	set := cmd.Flags()
	set.StringVar(&since, "since", "", "only rows since this time: 2h, 3d, 2026-03-17 or 2026-03-17T14:00:00Z")
	set.StringVar(&filter.Who, "who", "", "only actions of this person")
	set.StringVar(&filter.Tool, "tool", "", "only rows about calls of this tool (server.tool)")
	set.StringVar(&filter.Project, "project", "", "only rows about investigations, virtual agents and rules of this project")
	set.BoolVar(&c.JSON, "json", false, "print JSON Lines")
	cmd.AddCommand(auditVerifyCommand(c), auditHeadCommand(c))
	return cmd
}

func printActs(ctx context.Context, c *base.CLI, filter record.ActFilter) error {
	if c.JSON {
		encoder := json.NewEncoder(c.Out)
		encoder.SetEscapeHTML(false)
		return auditFailed(c.Client().Acts(ctx, filter, func(a audit.Act) error { return encoder.Encode(a) }))
	}
	var acts []audit.Act
	err := c.Client().Acts(ctx, filter, func(a audit.Act) error {
		acts = append(acts, a)
		return nil
	})
	switch {
	case err != nil:
		return auditFailed(err)
	case len(acts) == 0:
		c.Say("no matching rows in the audit trail")
		return nil
	}
	row := func(a audit.Act) []string {
		who := a.Who
		if a.Channel != "" {
			who += " (" + a.Channel + ")"
		}
		call := strings.Trim(a.Execution+"/"+a.Call, "/")
		return []string{a.At.UTC().Format("2006-01-02T15:04:05Z"), a.Investigation, string(a.What), who, call, a.Tool, detailLine(a)}
	}
	if c.Options(false).Width > 0 { // as lines, because a table could cut who decided what
		for _, a := range acts {
			if err = c.Print(terminal.Clean(strings.Join(base.Present(row(a)), "  "))); err != nil {
				return err
			}
		}
		return nil
	}
	return base.PrintTable(c, "AT\tINVESTIGATION\tWHAT\tWHO\tCALL\tTOOL\tTEXT", acts, func(a audit.Act) (cells []any) {
		for _, cell := range row(a) {
			cells = append(cells, base.Dash(cell))
		}
		return cells
	})
}

// detailLine formats a row's details, sorted by name.
func detailLine(a audit.Act) string {
	texts := map[string]string{}
	_ = json.Unmarshal(a.Detail, &texts) // only --json shows details that are not strings
	var out []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, name+" "+texts[name])
	}
	return strings.Join(out, " · ")
}

func auditVerifyCommand(c *base.CLI) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the audit trail for changed rows",
		Long: `Find the first row of the audit trail that was changed, deleted or inserted outside
Inquest. The exit code is 1 if there is one. An attacker who can write to the whole
database can recompute every hash. To detect that, give --head a hash that "starter audit
head" printed earlier and that you kept where the attacker cannot write.`,
		Example: `  starter audit verify
  starter audit verify --head $(tail -n 1 /mnt/worm/inquest-heads)`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := c.Local().VerifyAudit(cmd.Context(), head)
			if err != nil {
				return auditFailed(err)
			}
			if c.JSON {
				err = c.PrintJSON(found)
			} else if found.Fault == "" {
				line := terminal.Count(int(found.Rows), "row") + " verified"
				if found.Loose > 0 {
					line += "; the latest rows of " + terminal.Count(found.Loose, "hash chain") + " are not covered by an anchor yet"
				}
				if found.Rows == 0 {
					line = "nothing to verify: the audit trail has no rows"
				}
				_, err = fmt.Fprintln(c.Out, line)
				for _, warning := range found.Warnings {
					c.Say("%s", warning)
				}
			}
			if err == nil && found.Fault != "" {
				err = fmt.Errorf("the audit trail does not verify: %s", terminal.CleanLine(found.Fault))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "hash of an anchor that must be in the audit trail")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the result as JSON")
	return cmd
}

func auditHeadCommand(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "head",
		Short: "Print a hash that covers all rows so far",
		Long: `Anchor the audit trail in its current state, and print the anchor's hash. Keep the hash
somewhere else. Later, "starter audit verify --head HASH" proves that no earlier row was
changed.`,
		Example: `  starter audit head >> /mnt/worm/inquest-heads`,
		Args:    base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			head, err := c.Local().AuditHead(cmd.Context())
			switch {
			case err != nil:
				return auditFailed(err)
			case head.N == 0:
				return errors.New("the audit trail is empty")
			case c.JSON:
				return c.PrintJSON(map[string]any{"n": head.N, "at": head.At, "hash": head.Hash})
			}
			_, err = fmt.Fprintln(c.Out, head.Hash)
			return err
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the anchor as JSON")
	return cmd
}

// auditFailed tells the user how to name the store.
func auditFailed(err error) error {
	if errors.Is(err, system.ErrNoStore) {
		return errors.New("the audit trail is in the workers' store, and no store was found here: set --store")
	}
	return err
}

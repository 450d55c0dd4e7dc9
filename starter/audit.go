package main

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

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func auditCommand(c *cli) *cobra.Command {
	var filter store.ActFilter
	var since string
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Print who decided what: calls, questions, steering, rules",
		Long: `Print who decided what, of all investigations or of one, oldest first: what people were
asked, what they decided about which call, by which channel, when the call was made and
what came of it; answers, guidance, pauses, extensions, rules, starts and ends. --json
prints one row a line (JSON Lines) with its hash. Texts are masked as everywhere.`,
		Example: `  starter audit lab
  starter audit --since 7d --who ada --json > audit.jsonl`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if filter.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			if len(args) > 0 {
				if filter.Investigation, err = c.meant(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return printActs(cmd.Context(), c, filter)
		},
	}
	set := cmd.Flags()
	set.StringVar(&since, "since", "", "only rows since then: 2h, 3d, 2026-03-17 or 2026-03-17T14:00:00Z")
	set.StringVar(&filter.Who, "who", "", "only what this person did")
	set.StringVar(&filter.Tool, "tool", "", "only what is about calls of this tool (server.tool)")
	set.StringVar(&filter.Project, "project", "", "only what is about investigations, virtual agents and rules of this project")
	set.BoolVar(&c.json, "json", false, "print JSON Lines")
	cmd.AddCommand(auditVerifyCommand(c), auditHeadCommand(c))
	return cmd
}

func printActs(ctx context.Context, c *cli, filter store.ActFilter) error {
	if c.json {
		encoder := json.NewEncoder(c.out)
		encoder.SetEscapeHTML(false)
		return auditFailed(c.client().Acts(ctx, filter, func(a audit.Act) error { return encoder.Encode(a) }))
	}
	var acts []audit.Act
	err := c.client().Acts(ctx, filter, func(a audit.Act) error {
		acts = append(acts, a)
		return nil
	})
	switch {
	case err != nil:
		return auditFailed(err)
	case len(acts) == 0:
		c.say("nothing is in the audit trail that fits")
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
	if c.options(false).Width > 0 { // as lines, because a table could cut who decided what
		for _, a := range acts {
			if err = c.print(terminal.Clean(strings.Join(present(row(a)), "  "))); err != nil {
				return err
			}
		}
		return nil
	}
	return printTable(c, "AT\tINVESTIGATION\tWHAT\tWHO\tCALL\tTOOL\tTEXT", acts, func(a audit.Act) (cells []any) {
		for _, cell := range row(a) {
			cells = append(cells, dash(cell))
		}
		return cells
	})
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
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

func auditVerifyCommand(c *cli) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look for rows of the audit trail that were changed",
		Long: `Look for the first row of the audit trail that was changed, taken out or put in by
another hand; exit code 1 if there is one. Whoever can write to the whole database can
make all of it fit: give --head the hash that "starter audit head" has printed before,
and that was kept where he cannot write.`,
		Example: `  starter audit verify
  starter audit verify --head $(cat /mnt/worm/inquest-head)`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := c.local().VerifyAudit(cmd.Context(), head)
			if err != nil {
				return auditFailed(err)
			}
			if c.json {
				err = c.printJSON(found)
			} else if found.Fault == "" {
				line := fmt.Sprintf("%d rows fit", found.Rows)
				if found.Loose > 0 {
					line += fmt.Sprintf("; %d chains have rows that no anchor marks yet", found.Loose)
				}
				if found.Rows == 0 {
					line = "nothing to verify: the audit trail has no rows"
				}
				_, err = fmt.Fprintln(c.out, line)
				for _, warning := range found.Warnings {
					c.say("%s", warning)
				}
			}
			if err == nil && found.Fault != "" {
				err = fmt.Errorf("the audit trail was changed: %s", terminal.CleanLine(found.Fault))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "hash of an anchor that must be there")
	cmd.Flags().BoolVar(&c.json, "json", false, "print what was found as JSON")
	return cmd
}

func auditHeadCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "head",
		Short: "Print the hash that stands for all rows so far",
		Long: `Anchor the audit trail as it is now, and print the anchor's hash. Kept somewhere else,
it proves later, by audit verify --head, that no row up to now was changed.`,
		Example: `  starter audit head >> /mnt/worm/inquest-heads`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			head, err := c.local().AuditHead(cmd.Context())
			switch {
			case err != nil:
				return auditFailed(err)
			case head.N == 0:
				return errors.New("nothing is in the audit trail")
			case c.json:
				return c.printJSON(map[string]any{"n": head.N, "at": head.At, "hash": head.Hash})
			}
			_, err = fmt.Fprintln(c.out, head.Hash)
			return err
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print the anchor as JSON")
	return cmd
}

// auditFailed adds how to find the store.
func auditFailed(err error) error {
	if errors.Is(err, client.ErrNoStore) {
		return errors.New("the audit trail is in the workers' store, which is not here: --store names it")
	}
	return err
}

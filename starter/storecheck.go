package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func storeCheckCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [ID]",
		Short: "Compare the store with Temporal's history",
		Long: `Compare what the store has of an investigation or a conversation, or of all that run, with
what Temporal's history refers to. Entries are missing from a store that was restored from
a backup or that lost commits in a failover. Nothing is changed. The exit code is 1 if
something is missing.`,
		Example: `  starter store check
  starter store check lab --json`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				var err error
				if id, err = c.meant(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return storeCheck(cmd.Context(), c, id)
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print what was found as JSON")
	return cmd
}

func storeCheck(ctx context.Context, c *cli, id string) error {
	checks, err := c.local().CheckStore(ctx, id)
	if errors.Is(err, client.ErrNoStore) {
		return errors.New("the workers' store is not here: --store names it")
	}
	if err != nil {
		return err
	}
	failed := 0
	for _, check := range checks {
		if !check.Whole() {
			failed++
		}
	}
	if c.json {
		if checks == nil {
			checks = []client.StoreCheck{} // not null in JSON
		}
		err = c.printJSON(checks)
	} else {
		err = c.printChecks(checks, failed)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("the store lacks something of %d of %s", failed, terminal.Count(len(checks), "investigation"))
	}
	return err
}

func (c *cli) printChecks(checks []client.StoreCheck, failed int) error {
	if len(checks) == 0 {
		return c.print("No investigations or conversations are running.")
	}
	for _, check := range checks {
		if err := c.print(terminal.CleanLine(check.ID + ": " + checkLine(check))); err != nil {
			return err
		}
	}
	if failed == 0 {
		return nil
	}
	return c.print(`
The store does not know what these did after its newest entry: verify that by hand. An investigation makes no more calls
once a worker has noticed. To continue one, put a store that has the missing entries in place (the former primary, a newer
backup) and reset the workflow that failed. Else end it with "starter cancel ID" and start it again with "starter rerun ID".
"starter audit verify" looks for changes of the audit trail.`)
}

// checkLine describes a check's result in one line.
func checkLine(check client.StoreCheck) string {
	if check.Error != "" {
		return "not checked: " + check.Error
	}
	stored := "the store has no entries"
	if check.Entries > 0 {
		stored = fmt.Sprintf("the store has %d entries, the newest of %s", check.Entries, check.LastAt.Format(time.RFC3339))
	}
	if check.Whole() {
		return fmt.Sprintf("nothing is missing; %s; Temporal refers to %d of them", stored, check.Referred)
	}
	var lost []string
	if n := len(check.Missing); n > 0 {
		first, last := check.Missing[0], check.Missing[n-1]
		lost = append(lost, fmt.Sprintf("%d of the %d entries that Temporal refers to, from %d (written at %s) to %d (written at %s)",
			n, check.Referred, first.Seq, first.At.Format(time.RFC3339), last.Seq, last.At.Format(time.RFC3339)))
	}
	if check.Gaps > 0 {
		lost = append(lost, fmt.Sprintf("%d entries below its newest", check.Gaps))
	}
	if n := len(check.Blobs); n > 0 {
		lost = append(lost, fmt.Sprintf("%d contents (the first is blob %s)", n, check.Blobs[0]))
	}
	if check.Unrecorded {
		lost = append(lost, "the record of the investigation")
	}
	return "lost " + strings.Join(lost, "; ") + "; " + stored
}

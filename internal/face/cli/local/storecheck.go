package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/system"
)

// newStoreCheck returns the command store check.
func newStoreCheck(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [ID]",
		Short: "Compare the store with Temporal's history",
		Long: `Compare the store with Temporal's history, for one investigation or conversation or for
all running ones. A store that was restored from a backup, or that lost commits in a
failover, lacks entries that the history refers to. The check changes nothing. The exit
code is 1 if entries are missing or something could not be checked.`,
		Example: `  starter store check
  starter store check lab --json`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				var err error
				if id, err = c.Meant(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return storeCheck(cmd.Context(), c, id)
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the result as JSON")
	return cmd
}

func storeCheck(ctx context.Context, c *base.CLI, id string) error {
	checks, err := systemOf(c).CheckStore(ctx, id)
	if errors.Is(err, system.ErrNoStore) {
		return errors.New("the workers' store was not found here: set --store")
	}
	if err != nil {
		return err
	}
	failed, lost := 0, 0
	for _, check := range checks {
		if check.Error != "" {
			failed++
		} else if !check.Whole() {
			lost++
		}
	}
	if c.JSON {
		if checks == nil {
			checks = []client.StoreCheck{} // not null in JSON
		}
		err = c.PrintJSON(checks)
	} else {
		err = printChecks(c, checks, lost > 0)
	}
	var problems []string
	if lost > 0 {
		problems = append(problems, fmt.Sprintf("the store lacks data for %d of %d investigations and conversations", lost, len(checks)))
	}
	if failed > 0 {
		problems = append(problems, fmt.Sprintf("%d of %d could not be checked", failed, len(checks)))
	}
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	return err
}

func printChecks(c *base.CLI, checks []client.StoreCheck, lost bool) error {
	if len(checks) == 0 {
		return c.Print("No investigations or conversations are running.")
	}
	for _, check := range checks {
		if err := c.Print(terminal.CleanLine(check.ID + ": " + checkLine(check))); err != nil {
			return err
		}
	}
	if !lost {
		return nil
	}
	return c.Print(`
The store lacks data for those with "missing:" above. It does not show what they did after its newest entry: verify that by
hand. They stop making calls once a worker notices the loss. To continue one, switch to a store that has the missing
entries (the former primary, or a newer backup) and reset the workflow that failed. Otherwise, end it with "starter cancel ID".
Then start an investigation again with "starter rerun ID" (with "starter run" if its record is missing), or a conversation with
"starter chat". To check the audit trail for changes, run "starter audit verify".`)
}

// checkLine describes a check's result in one line.
func checkLine(check client.StoreCheck) string {
	if check.Error != "" {
		return "not checked: " + check.Error
	}
	stored := "the store has no entries"
	if check.Entries > 0 {
		stored = fmt.Sprintf("entries in the store: %d, the newest from %s", check.Entries, check.LastAt.Format(time.RFC3339))
	}
	if check.Whole() {
		return fmt.Sprintf("nothing is missing; %s; entries that Temporal refers to: %d", stored, check.Referred)
	}
	var lost []string
	if n := len(check.Missing); n > 0 {
		first, last := check.Missing[0], check.Missing[n-1]
		lost = append(lost, fmt.Sprintf("%d of the %d entries that Temporal refers to, from %d (written at %s) to %d (written at %s)",
			n, check.Referred, first.Seq, first.At.Format(time.RFC3339), last.Seq, last.At.Format(time.RFC3339)))
	}
	if check.Gaps > 0 {
		lost = append(lost, fmt.Sprintf("entries before the newest one: %d", check.Gaps))
	}
	if n := len(check.Blobs); n > 0 {
		lost = append(lost, fmt.Sprintf("blobs: %d (the first is %s)", n, check.Blobs[0]))
	}
	if check.Unrecorded {
		lost = append(lost, "the record of the investigation")
	}
	return "missing: " + strings.Join(lost, "; ") + "; " + stored
}

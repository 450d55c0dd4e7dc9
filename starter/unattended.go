package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/inquest-dev/inquest/internal/chaindraw"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func printUnattended(c *cli, all []chaindraw.Unattended) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, "Without asking a person, agents may:")
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, u := range all {
		but := ""
		if len(u.Ask) > 0 {
			but = ", but for " + strings.Join(u.Ask, ", ")
		}
		fmt.Fprintf(w, "  %s\t%s\t%s by %s%s\n", cmp.Or(u.Chain, "on their own"), strings.Join(u.Agents, ", "), u.Risks(),
			terminal.CleanLine(strings.Join(u.Tools, ", ")), terminal.CleanLine(but))
	}
	return w.Flush()
}

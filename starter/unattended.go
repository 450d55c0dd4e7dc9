package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/chaindraw"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func printUnattended(c *cli, all []chaindraw.Unattended) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, "Without asking a person, agents may:")
	var rows [][]string
	for _, u := range all {
		but := ""
		if len(u.Ask) > 0 {
			but = ", but for " + strings.Join(u.Ask, ", ")
		}
		rows = append(rows, []string{
			"  " + cmp.Or(u.Chain, "on their own"), strings.Join(u.Agents, ", "),
			terminal.CleanLine(fmt.Sprintf("%s by %s%s", u.Risks(), strings.Join(u.Tools, ", "), but)),
		})
	}
	return printColumns(c, rows)
}

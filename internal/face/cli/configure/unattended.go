package configure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/face/chaindraw"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

func printUnattended(c *base.CLI, all []chaindraw.Unattended) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(c.Out, "Without asking a person, agents may:")
	var rows [][]string
	for _, u := range all {
		but := ""
		if len(u.Ask) > 0 {
			but = ", except " + strings.Join(u.Ask, ", ")
		}
		rows = append(rows, []string{
			"  " + cmp.Or(u.Chain, "in conversations"), strings.Join(u.Agents, ", "),
			terminal.CleanLine(fmt.Sprintf("%s with %s%s", u.Risks(), strings.Join(u.Tools, ", "), but)),
		})
	}
	return base.PrintColumns(c, rows)
}

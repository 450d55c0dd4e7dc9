package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/inquest-dev/inquest/internal/terminal"
)

// printTable prints a row of cells for each thing below titles.
func printTable[T any](c *cli, titles string, all []T, cells func(T) []any) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, titles)
	for _, one := range all {
		var row []string
		for _, cell := range cells(one) {
			row = append(row, terminal.CleanLine(fmt.Sprint(cell)))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

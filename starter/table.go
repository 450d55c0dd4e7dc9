package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// printTable prints a row of cells for each thing below titles.
func printTable[T any](c *cli, titles string, all []T, cells func(T) []any) error {
	rows := [][]string{strings.Split(titles, "\t")}
	for _, one := range all {
		var row []string
		for _, cell := range cells(one) {
			row = append(row, terminal.CleanLine(fmt.Sprint(cell)))
		}
		rows = append(rows, row)
	}
	if width := c.options(false).Width; width > 0 {
		fit(rows, width)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, columnGap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

const (
	columnGap = 2
	minProse  = 20 // what a text is left on a terminal, however narrow
)

// fit cuts the column of texts, where there is one, so that a row is a line of a terminal.
func fit(rows [][]string, width int) {
	prose, left := -1, width
	for n, title := range rows[0] {
		if title == "TEXT" || title == "DESCRIPTION" {
			prose = n
			continue
		}
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[n]))
		}
		left -= widest + columnGap
	}
	for _, row := range rows {
		if prose >= 0 {
			row[prose] = clip.Fit(row[prose], max(left, minProse))
		}
	}
}

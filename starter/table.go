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
	_, err := printFitted(c, titles, all, cells)
	return err
}

// printFitted is printTable that tells whose text a narrow terminal has cut.
func printFitted[T any](c *cli, titles string, all []T, cells func(T) []any) (cut []bool, err error) {
	rows := [][]string{strings.Split(titles, "\t")}
	for _, one := range all {
		var row []string
		for _, cell := range cells(one) {
			row = append(row, terminal.CleanLine(fmt.Sprint(cell)))
		}
		rows = append(rows, row)
	}
	cut = make([]bool, len(all))
	if width := c.options(false).Width; width > 0 {
		cut = fit(rows, width)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, columnGap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return cut, w.Flush()
}

const (
	columnGap = 2
	minProse  = 20 // what a text is left on a terminal, however narrow
)

// fit cuts the column of texts, where there is one, so that a row is a line of a terminal.
// It tells of each row below the titles whether its text was cut.
func fit(rows [][]string, width int) (cut []bool) {
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
	cut = make([]bool, len(rows)-1)
	if prose < 0 {
		return cut
	}
	for n, row := range rows[1:] {
		whole := row[prose]
		row[prose] = clip.Fit(whole, max(left, minProse))
		cut[n] = row[prose] != whole
	}
	return cut
}

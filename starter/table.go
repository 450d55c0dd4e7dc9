package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/terminal"
)

// printTable prints a row of cells for each thing below titles.
func printTable[T any](c *cli, titles string, all []T, cells func(T) []any) error {
	_, err := printFitted(c.out, c, titles, all, cells)
	return err
}

// printFitted is printTable to out that tells whose text a narrow terminal has cut.
func printFitted[T any](out io.Writer, c *cli, titles string, all []T, cells func(T) []any) (cut []bool, err error) {
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
		rows, cut = fit(rows, width)
	}
	return cut, writeColumns(out, rows)
}

const (
	columnGap = 2
	minProse  = 20 // columns that a text is left on a terminal, however narrow
)

// Titles of columns of texts, of which a table has one at most, and of those that a narrow
// terminal does without, the least first.
var (
	proseTitles = []string{"TEXT", "DESCRIPTION", "ABOUT"}
	spareTitles = []string{"TOOLS", "CALLS", "STARTED", "TOOK", "IDEMPOTENCY", "RISK FROM", "TOKENS", "CHAIN", "STAGE"}
)

// fit leaves out columns and cuts the texts, where there are any, so that a row is a line of a
// terminal. It tells of each row below the titles whether its text was cut.
func fit(rows [][]string, width int) (fitted [][]string, cut []bool) {
	cut = make([]bool, len(rows)-1)
	for _, spare := range append(spareTitles, "") {
		prose, left := -1, width
		for n, title := range rows[0] {
			if slices.Contains(proseTitles, title) {
				prose = n
				continue
			}
			widest := 0
			for _, row := range rows {
				widest = max(widest, ansi.StringWidth(row[n]))
			}
			left -= widest + columnGap
		}
		n := slices.Index(rows[0], spare)
		switch {
		case prose < 0:
			return rows, cut
		case left < minProse && n >= 0:
			for r := range rows {
				rows[r] = slices.Delete(rows[r], n, n+1)
			}
		case left >= minProse || spare == "":
			for r, row := range rows[1:] {
				whole := row[prose]
				row[prose] = terminal.Fit(whole, max(left, minProse))
				cut[r] = row[prose] != whole
			}
			return rows, cut
		}
	}
	return rows, cut
}

// writeColumns writes rows whose columns are aligned, of wide characters as well.
func writeColumns(out io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for n, cell := range row {
			widths[n] = max(widths[n], ansi.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for n, cell := range row[:len(row)-1] {
			line.WriteString(terminal.Pad(cell, widths[n]+columnGap))
		}
		line.WriteString(row[len(row)-1])
		if _, err := fmt.Fprintln(out, line.String()); err != nil {
			return err
		}
	}
	return nil
}

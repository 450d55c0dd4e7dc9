package base

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// PrintTable prints titles and a row of cells for each item.
func PrintTable[T any](c *CLI, titles string, all []T, cells func(T) []any) error {
	_, err := PrintFitted(c.Out, c, titles, all, cells)
	return err
}

// PrintFitted is PrintTable to out. It reports which rows' texts a narrow terminal has truncated.
func PrintFitted[T any](out io.Writer, c *CLI, titles string, all []T, cells func(T) []any) (cut []bool, err error) {
	rows := [][]string{strings.Split(titles, "\t")}
	for _, one := range all {
		var row []string
		for _, cell := range cells(one) {
			row = append(row, terminal.CleanLine(fmt.Sprint(cell)))
		}
		rows = append(rows, row)
	}
	cut = make([]bool, len(all))
	if width := c.Options(false).Width; width > 0 {
		rows, cut = fit(rows, width)
	}
	return cut, writeColumns(out, rows, c.Options(false).Width)
}

// PrintColumns prints rows without titles. The last cells are texts.
func PrintColumns(c *CLI, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	for _, row := range rows {
		for n, cell := range row {
			row[n] = terminal.Clean(cell)
		}
	}
	return writeColumns(c.Out, rows, c.Options(false).Width)
}

const (
	ColumnGap = 2
	minProse  = 20 // least width of a text, however narrow the terminal
	aboutWide = 36 // width for which other columns are dropped, because descriptions distinguish investigations best
)

// Titles of text columns (a table has at most one) and of the columns that a narrow terminal drops, least important first. The first
// column names the rows, so it stays.
var (
	proseTitles = []string{"TEXT", "DESCRIPTION", "ABOUT"}
	spareTitles = []string{
		"TOOLS", "CALLS", "STARTED", "TOOK", "IDEMPOTENCY", "RISK FROM", "TOKENS", "CHAIN", "STAGE", "KIND", "PROMPT", "ALIAS", "COST",
		"P90", "SCORE", "TO REVIEW", "INCONCLUSIVE",
	}
)

// fit drops columns and truncates texts so that each row fits on a line of the terminal. For each row below the titles, it reports
// whether the text was truncated.
func fit(rows [][]string, width int) (fitted [][]string, cut []bool) {
	cut = make([]bool, len(rows)-1)
	rows = withoutEmpty(rows)
	for _, spare := range append(spareTitles, "") {
		prose := slices.IndexFunc(rows[0], func(title string) bool { return slices.Contains(proseTitles, title) })
		widths := widest(rows)
		last := len(widths) - 1
		room, least := last, minProse // for the last column, which is wrapped if there is no text column
		if prose >= 0 {
			room = prose
		}
		if rows[0][room] == "ABOUT" {
			least = aboutWide
		}
		left := width - ColumnGap*last
		for n, w := range widths {
			if n != room {
				left -= w
			}
		}
		n := slices.Index(rows[0], spare)
		switch {
		case left < min(least, widths[room]) && n > 0:
			for r := range rows {
				rows[r] = slices.Delete(rows[r], n, n+1)
			}
		case left < min(least, widths[room]) && spare != "":
		case prose < 0:
			return rows, cut
		default:
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

// withoutEmpty removes the droppable columns that are empty in all rows.
func withoutEmpty(rows [][]string) [][]string {
	keep := func(n int) bool {
		says := func(row []string) bool { return row[n] != "" && row[n] != "-" }
		return n == 0 || !slices.Contains(spareTitles, rows[0][n]) || slices.ContainsFunc(rows[1:], says) || len(rows) == 1
	}
	out := make([][]string, len(rows))
	for n := range rows[0] {
		if !keep(n) {
			continue
		}
		for r, row := range rows {
			out[r] = append(out[r], row[n])
		}
	}
	return out
}

// widest returns the width of each column.
func widest(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for n, cell := range row {
			widths[n] = max(widths[n], ansi.StringWidth(cell))
		}
	}
	return widths
}

// writeColumns writes rows with aligned columns, including wide characters. If the last column does not fit on the terminal, its cells
// are wrapped between words. Width 0 means no terminal.
func writeColumns(out io.Writer, rows [][]string, width int) error {
	widths := widest(rows)
	for _, row := range rows {
		var line strings.Builder
		for n, cell := range row[:len(row)-1] {
			line.WriteString(terminal.Pad(cell, widths[n]+ColumnGap))
		}
		text, indent := row[len(row)-1], ansi.StringWidth(line.String())
		if indent+minProse > width { // commands are never wrapped
			width = 0
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(terminal.Hang(line.String()+text, width, indent), " ")); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// table is a Markdown table, aligned so that it can also be read in a terminal.
type table struct {
	name  string // of its markers in a document
	title string
	head  []string
	rows  [][]string
}

// tables returns all tables of the report that have rows.
func (r *report) tables() []table {
	var out []table
	for _, t := range []table{r.speed(), r.cost(), r.writes(), r.longTable(), r.alone(), r.step(), r.capacity(), r.boundsTable()} {
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (r *report) speed() table {
	head := []string{"runs", "runs/s", "÷ shape", "÷ hand", "p50", "÷ shape", "p95"}
	return r.bySetting("speed", fmt.Sprintf("20 steps, medians of %d rounds", r.Rounds), head, func(w row) []string {
		return []string{
			fmt.Sprint(w.Runs), ratioText(w.Throughput), ratioText(w.ThroughputRatio), ratioText(w.HandRatio),
			timeText(w.Latency), ratioText(w.LatencyRatio), timeText(w.Slowest),
		}
	})
}

func (r *report) cost() table {
	head := []string{"events", "history", "worker CPU", "server CPU", "store CPU", "÷ shape", "worker RSS", "server RSS"}
	return r.bySetting("cost", "What one run of 20 steps took", head, func(w row) []string {
		return []string{
			fmt.Sprint(w.Events), sizeText(w.HistoryBytes), timeText(w.WorkerCPU), timeText(w.ServerCPU), timeText(w.StoreCPU),
			ratioText(w.CPURatio), sizeText(w.WorkerMemory), sizeText(w.ServerMemory),
		}
	})
}

func (r *report) writes() table {
	head := []string{"transitions", "Temporal wrote", "store commits", "store wrote", "store grew"}
	return r.bySetting("writes", "What one run of 20 steps wrote", head, func(w row) []string {
		return []string{
			fmt.Sprint(w.Transitions), sizeText(w.ServerWritten), number(w.StoreCommits), sizeText(w.StoreWritten), sizeText(w.StoreBytes),
		}
	})
}

// bySetting returns a table with a row for each workload under each setting.
func (r *report) bySetting(name, title string, head []string, cells func(row) []string) table {
	t := table{name, title, append([]string{"at once", "model", "workload"}, head...), nil}
	for _, w := range r.Rows {
		t.rows = append(t.rows, append([]string{fmt.Sprint(w.Concurrency), takesText(w.Takes), w.Workload}, cells(w)...))
	}
	return t
}

func (r *report) longTable() table {
	t := table{"long", "100 iterations about 200 KB",
		[]string{"workload", "model calls", "seconds", "calls/s ÷ hand", "events", "history", "largest iteration", "Temporal"}, nil}
	for _, l := range r.Long {
		ending := "let it end"
		if l.Ended {
			ending = "ended it"
		}
		largest := "–"
		if l.IterationEvents > 0 {
			largest = fmt.Sprintf("%d events, %s", l.IterationEvents, sizeText(l.IterationBytes))
		}
		t.rows = append(t.rows, []string{l.Workload, fmt.Sprintf("%d of %d", l.Calls, l.Of), fmt.Sprintf("%.1f", l.Seconds),
			ratioText(l.RateRatio), fmt.Sprint(l.Events), sizeText(l.Bytes), largest, ending})
	}
	return t
}

func (r *report) alone() table {
	t := table{"alone", "Steps and memory alone", []string{"what", "figure"}, nil}
	if r.OwnSteps > 0 {
		t.rows = append(t.rows,
			[]string{fmt.Sprintf("built-in steps a second, %d agents at a time", ownAgents), number(r.OwnSteps)},
			[]string{"the same ÷ rows that they write to transcripts without calls", number(r.OwnRatio)})
	}
	if r.SickRatio > 0 {
		t.rows = append(t.rows, []string{
			fmt.Sprintf("duration of %d investigations beside a sick conversation ÷ without it", healthyRuns), ratioText(r.SickRatio),
		})
	}
	if r.Resident > 0 {
		t.rows = append(t.rows,
			[]string{fmt.Sprintf("memory for each of %d investigations that run", r.Residents), sizeText(r.Resident)},
			[]string{"the same with garbage that was not collected yet", sizeText(r.ResidentAtOnce)})
	}
	return t
}

func (r *report) boundsTable() table {
	t := table{"bounds", "Bounds", []string{"what", "figure", "bound", ""}, nil}
	for _, b := range r.Bounds {
		verdict := "ok"
		if !b.ok() {
			verdict = "missed"
		}
		t.rows = append(t.rows, []string{b.What, number(b.Figure), b.want(), verdict})
	}
	return t
}

func (r *report) markdown(w io.Writer) error {
	text := r.head() + "\n"
	for _, t := range r.tables() {
		text += "\n" + t.title + "\n\n" + t.String()
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r *report) head() string { return r.Machine + " · store: " + r.Store }

// fill writes the tables into documents, between markers like these:
//
//	<!-- bench SQLite speed -->
//	<!-- /bench -->
func (r *report) fill(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		filled := r.fillIn(string(text))
		if filled == string(text) {
			return nil
		}
		return os.WriteFile(path, []byte(filled), 0o644)
	})
}

func (r *report) fillIn(text string) string {
	for _, t := range r.tables() {
		begin := fmt.Sprintf("<!-- bench %s %s -->", r.Store, t.name)
		place := regexp.MustCompile("(?s)" + regexp.QuoteMeta(begin) + ".*?<!-- /bench -->")
		body := begin + "\n" + r.head() + "\n\n" + t.String() + "<!-- /bench -->"
		text = place.ReplaceAllLiteralString(text, body)
	}
	return text
}

// String returns the table in Markdown. Columns of words are aligned left, others right.
func (t table) String() string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for n, cell := range row {
			widths[n] = max(widths[n], utf8.RuneCountInString(cell), len("--:"))
		}
	}
	var out strings.Builder
	line := func(cells []string) {
		for n, cell := range cells {
			padding := strings.Repeat(" ", widths[n]-utf8.RuneCountInString(cell))
			if t.words(n) {
				cell += padding
			} else {
				cell = padding + cell
			}
			out.WriteString("| " + cell + " ")
		}
		out.WriteString("|\n")
	}
	line(t.head)
	rule := make([]string, len(t.head))
	for n, width := range widths {
		rule[n] = ":" + strings.Repeat("-", width-1)
		if !t.words(n) {
			rule[n] = strings.Repeat("-", width-1) + ":"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return out.String()
}

func (t table) words(column int) bool {
	switch t.head[column] {
	case "workload", "what", "Temporal", "":
		return true
	}
	return false
}

func takesText(takes time.Duration) string {
	if takes == 0 {
		return "at once"
	}
	return takes.String()
}

func ratioText(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func timeText(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f ms", seconds*1000)
}

func sizeText(bytes int64) string {
	const unit = 1 << 10
	switch {
	case bytes == 0:
		return "–"
	case bytes < 10*unit*unit:
		return fmt.Sprintf("%.1f KB", float64(bytes)/unit)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/unit/unit)
}

// number has as many digits as one reads.
func number(x float64) string {
	switch {
	case x == 0:
		return "–"
	case x < 1:
		return fmt.Sprintf("%.3f", x)
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

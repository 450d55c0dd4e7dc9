package mask

import "strings"

// tables masks the columns of tables whose headers are named as secrets: CSV, output of psql, Markdown, and columns separated by
// blanks.
func (m *Masker) tables(text string) string {
	out := rewrite{text: text}
	for from := 0; from < len(text); {
		head, next := lineOf(text, from)
		separator, columns := m.columns(text, head)
		from = next
		for columns != nil && from < len(text) {
			row, after := lineOf(text, from)
			if !maskRow(&out, row, separator, columns) {
				break
			}
			from = after
		}
	}
	return out.String()
}

// lineOf returns the line that begins at i, and the start of the next one.
func lineOf(text string, i int) (line span, next int) {
	line = span{i, len(text)}
	next = len(text)
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		line.end, next = i+n, i+n+1
	}
	line.end = i + len(strings.TrimRight(text[i:line.end], "\r"))
	return line, next
}

const (
	maxHead    = 1024 // bytes
	separators = "\t|;,"
)

// columns reads a line that may be a table header. It returns the name of each column, nil for columns without secrets, or a nil
// slice if it is not a header. separator is 0 if blanks separate the columns.
func (m *Masker) columns(text string, head span) (separator byte, columns []*keyName) {
	line := text[head.start:head.end]
	if len(line) > maxHead || len(line) < len("pin,x") {
		return 0, nil
	}
	if at := strings.IndexAny(line, separators); at >= 0 {
		separator = line[at]
	} else if !strings.Contains(strings.TrimSpace(line), "  ") || strings.ToUpper(line) != line {
		return 0, nil
	}
	named := false
	for _, c := range cells(line, separator) {
		name := line[c.start:c.end]
		foreign := func(r rune) bool { return r < 0x80 && r != ' ' && !isKeyByte(byte(r)) }
		if strings.ContainsFunc(name, foreign) || name != "" && isDigit(name[0]) {
			return 0, nil
		}
		n := m.on.nameOf(name)
		if n != nil && separator == 0 && n.kind == secretKey { // it is the name of a key
			n = nil
		}
		named = named || n != nil
		columns = append(columns, n)
	}
	if !named || len(columns) < 2 {
		return 0, nil
	}
	return separator, columns
}

// maskRow masks the cells of a row. It returns false if the line is not a row of the table.
func maskRow(out *rewrite, row span, separator byte, columns []*keyName) bool {
	line := out.text[row.start:row.end]
	if strings.Trim(line, "|+-: ") == "" && line != "" {
		return true
	}
	all := cells(line, separator)
	if len(all) != len(columns) {
		return false
	}
	for i, n := range columns {
		value := line[all[i].start:all[i].end]
		plain := n == nil || strings.ContainsAny(value, " ") || isPlaceholder(value) || !n.takes(value) || separator == 0 && !random(value)
		if !plain {
			out.replace(row.start+all[i].start, row.start+all[i].end, n.kind.marker())
		}
	}
	return true
}

// cells returns the parts of a line between separators, or between two blanks, without blanks and quotes.
func cells(line string, separator byte) (out []span) {
	for i := 0; i <= len(line); {
		end, quote := i, byte(0)
		for ; end < len(line); end++ {
			c := line[end]
			switch {
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && c == '"' && strings.TrimSpace(line[i:end]) == "":
				quote = c
			}
			if quote == 0 && (separator != 0 && c == separator || separator == 0 && strings.HasPrefix(line[end:], "  ")) {
				break
			}
		}
		c := span{i, end}
		c.start = past(line[:end], i, isCellEdge)
		c.end = back(line, end, c.start, isCellEdge)
		if separator != 0 || c.end > c.start {
			out = append(out, c)
		}
		if i = end + 1; separator == 0 {
			i = past(line, i, func(c byte) bool { return c == ' ' })
		}
	}
	return out
}

func isCellEdge(c byte) bool { return isBlank(c) || c == '"' || c == '\'' }

package mask

import (
	"regexp"
	"strings"
)

// insert matches the head of an SQL statement that names the columns of its values: INTO users (name, password) VALUES.
var insert = regexp.MustCompile(`(?i)\binto\s{1,4}[\w."` + "`" + `\[\]]{1,80}\s{0,4}` +
	`\((?P<names>[^()]{1,500})\)\s{0,4}(?:overriding (?:system|user) value\s{1,4})?values?\s{0,4}`)

const (
	maxText       = 4096 // bytes of a string in SQL
	maxExpression = 256  // bytes of a value that is not a string
)

// inserts masks the values of columns that are named as secrets, in each row of a statement.
func (m *Masker) inserts(text string) string {
	if !strings.Contains(text, "INTO") && !strings.Contains(text, "into") {
		return text
	}
	out := rewrite{text: text}
	for _, at := range insert.FindAllStringSubmatchIndex(text, -1) {
		if at[0] < out.done { // within a masked string
			continue
		}
		columns, named := []*keyName{}, false
		for _, c := range cells(text[at[2]:at[3]], ',') {
			n := m.on.nameOf(strings.Trim(text[at[2]+c.start:at[2]+c.end], "`[]"))
			columns, named = append(columns, n), named || n != nil
		}
		for i := at[1]; named && i < len(text) && text[i] == '('; {
			if i = maskTuple(&out, i+1, columns); i < 0 {
				break
			}
			i = near(text, i, maxBlanks, isSpace)
			if i < len(text) && text[i] == ',' {
				i = near(text, i+1, maxBlanks, isSpace)
			}
		}
	}
	return out.String()
}

// maskTuple masks the strings of a row that begins at i, after its parenthesis. It returns the end of the row; -1 means that it is
// not one.
func maskTuple(out *rewrite, i int, columns []*keyName) int {
	text := out.text
	for n := 0; ; n++ {
		texts, end := sqlValue(text, i)
		if end < 0 {
			return -1
		}
		if n < len(columns) && columns[n] != nil {
			for _, v := range texts {
				value := text[v.start:v.end]
				if value != "" && columns[n].takes(value) && !isPlaceholder(value) && !strings.Contains(value, markerStart) {
					out.replace(v.start, v.end, columns[n].kind.marker())
				}
			}
		}
		if end == len(text) || text[end] == ')' {
			return min(end+1, len(text))
		}
		i = end + 1
	}
}

// sqlValue reads a value of a row: an expression that ends before a comma or a parenthesis. It returns the strings in it, without
// their quotes, and its end; -1 means that it is not a value. Arguments of a function within a function do not count, because they
// are names of methods, as in crypt('x', gen_salt('bf')).
func sqlValue(text string, i int) (texts []span, end int) {
	depth, last := 0, i+maxExpression
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case i > last:
			return nil, -1
		case c == '\'' || c == '"':
			end := sqlTextEnd(text, i)
			if end < 0 {
				return nil, -1
			}
			if depth < 2 {
				texts = append(texts, span{i + 1, end})
			}
			last += end - i
			i = end
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case (c == ',' || c == ')') && depth == 0:
			return texts, i
		case c == ';':
			return nil, -1
		}
	}
	return texts, len(text)
}

// sqlTextEnd returns the end of the string whose quote is at i. A doubled quote belongs to the string. A quote after a backslash
// belongs to it only if the backslash is an escape. In standard SQL it is not, and the string 'C:\' ends before a comma or a
// parenthesis.
func sqlTextEnd(text string, i int) int {
	quote, escapes := text[i], i > 0 && lower(text[i-1]) == 'e' && (i < 2 || !isAlnum(text[i-2]))
	for end := i + 1; end < len(text); end++ {
		switch c := text[end]; {
		case end-i > maxText:
			return -1
		case c == '\\' && end+1 < len(text) && (text[end+1] == quote || text[end+1] == '\\'):
			after := near(text, end+2, maxBlanks, isSpace)
			if escapes || text[end+1] == '\\' || after == len(text) || text[after] != ',' && text[after] != ')' {
				end++
			}
		case c == quote && end+1 < len(text) && text[end+1] == quote:
			end++
		case c == quote:
			return end
		}
	}
	return len(text)
}

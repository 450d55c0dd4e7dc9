package markdown

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fence matches a code fence that begins with its language, if it names one, and ends the text or a line.
var fence = regexp.MustCompile("(?ms)^```(\\w*)[ \\t]*\\n(.*?)\\n?```[ \\t]*$")

// headed matches a heading.
var headed = regexp.MustCompile(`(?m)^ {0,3}#{1,6}[ \t]`)

// Readable returns text as Markdown for people. A text that is one JSON object gets a section per key, in the
// object's order. The same applies to the object in the only code fence of a text without headings. A code fence around
// the whole text is removed if it holds Markdown. Any other text is returned unchanged.
func Readable(text string) string {
	bare := strings.TrimSpace(text)
	if sections, ok := sectionsOf(bare); ok {
		return sections
	}
	if body, ok := unfenced(bare); ok && strings.TrimSpace(body) != "" {
		return body + "\n"
	}
	found := fence.FindAllStringSubmatchIndex(bare, 2)
	if len(found) != 1 {
		return text
	}
	at := found[0]
	before, body, after := bare[:at[0]], bare[at[4]:at[5]], bare[at[1]:]
	if !headed.MatchString(before + after) {
		if sections, ok := sectionsOf(body); ok {
			return strings.TrimLeft(before+sections+after, "\n")
		}
	}
	return text
}

var (
	// outerFence matches the first line of Markdown in a fence.
	outerFence = regexp.MustCompile("(?i)^(`{3,}|~{3,})[ \\t]*(?:markdown|md)[ \\t]*$")
	// fenceLine matches any line that begins or ends a fence, with its language.
	fenceLine = regexp.MustCompile("^[ \\t]*(`{3,}|~{3,})[ \\t]*([^`]*)$")
)

// unfenced returns the Markdown in a fence around the whole text. In CommonMark, the first fence inside without a language would end
// the outer one, but models rarely write more than three backquotes. So unfenced pairs the fences inside, and returns false unless each
// is closed. The outer fence itself may be open, because replies are cut off.
func unfenced(text string) (body string, ok bool) {
	first, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	outer := outerFence.FindStringSubmatch(first)
	if outer == nil {
		return "", false
	}
	lines := strings.Split(body, "\n")
	inside := false
	for n, line := range lines {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case m == nil || !strings.HasPrefix(m[1], outer[1]):
		case inside && strings.TrimSpace(m[2]) != "": // so the line before that seemed to begin a fence has ended the outer one
			return "", false
		case !inside && strings.TrimSpace(m[2]) == "" && n == len(lines)-1:
			return strings.Join(lines[:n], "\n"), true
		default:
			inside = !inside
		}
	}
	return body, !inside
}

// sectionsOf lays out a JSON object. It returns false if text is anything else, or an empty object.
func sectionsOf(text string) (string, bool) {
	members, ok := membersOf([]byte(text))
	if !ok || len(members) == 0 {
		return "", false
	}
	var out strings.Builder
	for _, m := range members {
		fmt.Fprintf(&out, "## %s\n\n%s\n\n", heading(m.key), strings.TrimRight(section(m.value), "\n"))
	}
	return strings.TrimRight(out.String(), "\n") + "\n", true
}

type member struct {
	key   string
	value json.RawMessage
}

// membersOf returns the members of an object in their order. It returns false if raw is anything else.
func membersOf(raw []byte) (members []member, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		var m member
		key, err := decoder.Token()
		if err != nil || decoder.Decode(&m.value) != nil {
			return nil, false
		}
		m.key, _ = key.(string)
		members = append(members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, false
	}
	return members, len(strings.TrimSpace(string(raw[decoder.InputOffset():]))) == 0
}

// section returns the Markdown of a member's value, for the place below its heading.
func section(value json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		return items(list)
	}
	if members, ok := membersOf(value); ok {
		return fields(members)
	}
	return scalar(value)
}

func items(list []json.RawMessage) string {
	if len(list) == 0 {
		return "None."
	}
	var out strings.Builder
	for _, value := range list {
		line := scalar(value)
		if members, ok := membersOf(value); ok {
			var parts []string
			for _, m := range members {
				parts = append(parts, fmt.Sprintf("**%s:** %s", heading(m.key), scalar(m.value)))
			}
			line = strings.Join(parts, "; ")
		}
		out.WriteString("- " + indent(line) + "\n")
	}
	return out.String()
}

func fields(members []member) string {
	var out strings.Builder
	for _, m := range members {
		fmt.Fprintf(&out, "- **%s:** %s\n", heading(m.key), indent(scalar(m.value)))
	}
	return out.String()
}

// scalar returns the text of a string, a number or a boolean, "–" for null, and a list of strings joined by commas.
// Anything else is nested deeper than Readable lays out, and is returned as code.
func scalar(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return text
	}
	if trimmed := strings.TrimSpace(string(value)); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return strings.Replace(trimmed, "null", "–", 1)
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, ", ")
	}
	return "`" + strings.Join(strings.Fields(strings.ReplaceAll(string(value), "`", "'")), " ") + "`"
}

// indent keeps the further lines of a text within its list item.
func indent(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") }

// heading turns a key into words: "root_cause" and "rootCause" become "Root cause".
func heading(key string) string {
	var out strings.Builder
	var last rune
	for _, r := range key {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			out.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
		last = r
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	first, size := utf8.DecodeRuneInString(words)
	if size == 0 {
		return key
	}
	return string(unicode.ToUpper(first)) + words[size:]
}

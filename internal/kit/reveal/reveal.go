// Package reveal makes deceptive characters visible: invisible ones, and those that look like others. They become their code points, as
// in JSON: \u200b.
package reveal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hides reports whether a text has invisible characters.
func Hides(text string) bool { return strings.IndexFunc(text, unseen) >= 0 }

// unseen reports whether a character moves, hides or reorders the text around it, or is blank without being a space.
func unseen(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	const brailleBlank = 0x2800
	return !unicode.IsPrint(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r) || r == brailleBlank
}

// Hidden reports whether a character takes no room, or is blank without being a space. A character that only changes how the one before
// it is drawn does not count.
func Hidden(r rune) bool {
	const drawnAsEmoji = 0xfe0f
	return unseen(r) && !unicode.Is(unicode.Zs, r) && r != drawnAsEmoji
}

// Unseen replaces hidden characters in a text with their code points, for reading.
func Unseen(text string) string { return mark(text, Hidden) }

// Text replaces invisible characters with their code points, as well as letters that look like ASCII in words that mix alphabets: the о
// of gооgle.com, but nothing in Привет.
func Text(text string) string {
	var out strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if n < 0 {
			n = len(text)
		}
		out.WriteString(word(text[:n]))
		text = text[n:]
		if n = strings.IndexFunc(text, inWord); n < 0 {
			n = len(text)
		}
		out.WriteString(mark(text[:n], func(r rune) bool { return unseen(r) || alike(r) }))
		text = text[n:]
	}
	return out.String()
}

// Name is Text for names: it marks every character outside ASCII.
func Name(text string) string {
	return mark(text, func(r rune) bool { return r > unicode.MaxASCII || unseen(r) })
}

// JSON is Text for a JSON document, which stays equivalent, with Name for the keys.
func JSON(text string) string {
	if !json.Valid([]byte(text)) {
		return Text(text)
	}
	var out strings.Builder
	text = strings.ReplaceAll(text, "\r", " ") // allowed between strings only, and moves the cursor
	for {
		begin := strings.IndexByte(text, '"')
		if begin < 0 {
			return out.String() + text
		}
		out.WriteString(text[:begin])
		end := begin + 1
		for ; text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		marked := Text
		if strings.HasPrefix(strings.TrimLeft(text[end+1:], " \t\r\n"), ":") {
			marked = Name
		}
		for n, part := range strings.Split(text[begin:end+1], `\`) { // the n of \n is not part of a word
			if n > 0 && part != "" {
				out.WriteString(`\` + part[:1])
				part = part[1:]
			} else if n > 0 {
				out.WriteByte('\\')
			}
			out.WriteString(marked(part))
		}
		text = text[end+1:]
	}
}

// Points returns the code points that a text has and its marked form lacks, sorted.
func Points(text, marked string) (points []string) {
	for _, r := range text {
		if point := fmt.Sprintf("%U", r); !strings.ContainsRune(marked, r) && !slices.Contains(points, point) {
			points = append(points, point)
		}
	}
	slices.Sort(points)
	return points
}

// Indented is JSON with one line per key, each but the first after a margin. Text that is not JSON keeps its layout.
func Indented(text, margin string) string {
	marked := JSON(text)
	var out bytes.Buffer
	if json.Indent(&out, []byte(marked), margin, "  ") != nil {
		return marked
	}
	return out.String()
}

// inWord reports whether a character continues a word. Names of hosts and files count as one word.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("._-@", r)
}

func word(text string) string {
	latin := strings.IndexFunc(text, func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }) >= 0
	return mark(text, func(r rune) bool { return unseen(r) || latin && foreign(r) || alike(r) })
}

// foreign reports whether a letter belongs to an alphabet with letters that look like ASCII.
func foreign(r rune) bool {
	const ipaBegins, ipaEnds = 0x250, 0x2af
	return unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu) ||
		r >= ipaBegins && r <= ipaEnds
}

// alike reports whether a character is designed to look like an ASCII character, in any context.
func alike(r rune) bool {
	const wide, mathBegins, mathEnds = 0xff01 - '!', 0x1d400, 0x1d7ff
	if ascii := r - wide; ascii > 0 && ascii <= unicode.MaxASCII { // Chinese uses much wide punctuation
		return unicode.IsLetter(ascii) || unicode.IsDigit(ascii) || strings.ContainsRune("./@", ascii)
	}
	return r >= mathBegins && r <= mathEnds || strings.ContainsRune("\u2024\u2044\u2215\u29f8\u2236\ua789\u01c3\u2010\u2011\u2212", r)
}

// mark replaces the marked characters in a text with their code points.
func mark(text string, marked func(rune) bool) string {
	var out strings.Builder
	for _, r := range text {
		if !marked(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out.WriteString(fmt.Sprintf(`\u%04x`, unit)) // workflowcheck does not know that Fprintf to a builder is pure
		}
	}
	return out.String()
}

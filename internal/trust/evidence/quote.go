package evidence

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text in the form in which quotations are searched. at[i] is the original position of byte i.
type folded struct {
	text string
	at   []int
}

// fold collapses whitespace and undoes JSON escaping, however often the text was escaped, because models quote the meaning and not
// the spelling. It drops invisible characters.
func fold(text string) folded {
	var out strings.Builder
	at := make([]int, 0, len(text)+1)
	put := func(r rune, from int) {
		before := out.Len()
		out.WriteRune(r)
		for range out.Len() - before {
			at = append(at, from)
		}
	}
	space := true // drops leading space
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		from := i
		i += size
		if r == '\\' {
			for i < len(text) && text[i] == '\\' {
				i++
			}
			if r, size = utf8.DecodeRuneInString(text[i:]); size == 0 {
				break
			}
			i += size
			if code, err := strconv.ParseUint(hex(text[i:]), 16, 16); r == 'u' && err == nil {
				r, i = rune(code), i+4
			} else if r == 'n' || r == 'r' || r == 't' {
				r = ' '
			}
		}
		switch r = seen(r); {
		case r < 0:
		case unicode.IsSpace(r):
			if !space {
				put(' ', from)
			}
			space = true
		default:
			put(r, from)
			space = false
		}
	}
	return folded{out.String(), append(at, len(text))}
}

func hex(text string) string {
	if len(text) < 4 {
		return ""
	}
	return text[:4]
}

// seen normalizes a character: all kinds of quotation marks and digits become equal. It returns -1 for invisible characters.
func seen(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case strings.ContainsRune("“”„«»", r):
		return '"'
	case strings.ContainsRune("‘’", r):
		return '\''
	case strings.ContainsRune("‐‑", r):
		return '-'
	case unicode.Is(unicode.Cf, r):
		return -1
	case unicode.Is(unicode.Nd, r):
		zero := r
		for zero > r-9 && unicode.Is(unicode.Nd, zero-1) {
			zero--
		}
		return '0' + r - zero
	}
	return r
}

// thousands matches a narrow space as thousands separator.
var thousands = regexp.MustCompile(`(\d)[\x{00A0}\x{202F}\x{2009}](\d{3})`)

// readable returns a text as displayed, but keeps its quotation marks.
func readable(text string) string {
	text = thousands.ReplaceAllString(text, "${1}_$2")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) && r != '\n':
			return ' '
		case strings.ContainsRune("“”„«»’", r):
			return r
		}
		return seen(r)
	}, text)
}

// shortest is the minimum number of letters and digits in a quotation.
const shortest = 5

// tooShort reports whether a quotation is so short that it would be found in any text.
func tooShort(quotation string) bool {
	n := 0
	for _, r := range quotation {
		if wordly(r) {
			n++
		}
	}
	return n < shortest
}

// find returns the position of a quotation in a text: from, to.
func (f folded) find(quotation string) (from, to int, ok bool) {
	said := strings.TrimSpace(fold(quotation).text)
	for start := 0; said != ""; {
		i := strings.Index(f.text[start:], said)
		if i < 0 {
			break
		}
		i += start
		end := i + len(said)
		begins, ends := !wordly(last(f.text[:i])) || !wordly(first(said)), !wordly(first(f.text[end:])) || !wordly(last(said))
		if begins && ends && !splitsNumber(f.text[:i], f.text[i:]) && !splitsNumber(f.text[:end], f.text[end:]) {
			return f.at[i], f.at[end], true
		}
		start = i + 1
	}
	return 0, 0, false
}

const (
	signs     = "-−+"
	inNumbers = ".,:'_/" + signs // between the digits of amounts, times, dates and ratios
)

// splitsNumber reports whether a boundary is within a number: "5 GB" in "1.5 GB" and "3" in "-3" are other numbers.
func splitsNumber(before, after string) bool {
	l, r := last(before), first(after)
	switch {
	case unicode.IsDigit(l) && strings.ContainsRune(inNumbers, r):
		return unicode.IsDigit(first(after[utf8.RuneLen(r):]))
	case strings.ContainsRune(inNumbers, l) && unicode.IsDigit(r):
		beyond := last(before[:len(before)-utf8.RuneLen(l)])
		return unicode.IsDigit(beyond) || strings.ContainsRune(signs, l) && !wordly(beyond)
	}
	return false
}

package evidence

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// facts are the parts of a text that code can look for.
type facts struct {
	numbers []number
	moments []moment
	names   []string
	quotes  []string
	plain   string // the whole text, in the form in which names and quotes are searched
	at      int    // index of the current word
}

var (
	// quotation matches text in quotation marks or code spans.
	quotation = regexp.MustCompile("``([^`]+)``|`([^`]+)`|\"([^\"\n]{2,})\"|“([^”\n]{2,})”|«([^»\n]{2,})»|„([^“”\n]{2,})[“”]")
	link      = regexp.MustCompile(`\[([^\]\n]*)\]\(([^)\s]*)\)`)
	address   = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s<>"'|)\]]+`)
	token     = regexp.MustCompile(`[\pL\pN_./:@+%×~#\\'’,−–—-]+`)
	listed    = regexp.MustCompile(`(\d),(\d)`)
	comma     = regexp.MustCompile(`([^\d]),|,([^\d])`)
)

// claimed returns the facts of a sentence of a report. known holds plain words that are names in this investigation.
func claimed(text string, known map[string]bool) facts {
	text = readable(link.ReplaceAllString(text, "$1 $2 "))
	f := facts{}
	text = replaced(text, quotation, func(whole string, inside string) string {
		inside = strings.TrimSpace(inside)
		switch measure := numberLike(strings.ReplaceAll(inside, " ", "")) || len(moments(inside)) > 0 && len(inside) < 40; {
		case measure:
			return " " + inside + " "
		case strings.Contains(inside, " "):
			f.quotes = append(f.quotes, inside)
		case inside != "":
			f.names = append(f.names, inside)
		}
		return blank(whole)
	})
	f.read(strings.ReplaceAll(text, "*", ""), false)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !wordly(r) && r != '-' && r != '_' }) {
		if known[strings.ToLower(word)] && !isName(word) {
			f.names = append(f.names, word)
		}
	}
	return f
}

// stated returns the facts of a cited text.
func stated(text string) facts {
	text = readable(text)
	f := facts{plain: strings.ToLower(fold(text).text)}
	f.moments = epochs(text)
	if isJSON := json.Valid([]byte(text)); isJSON {
		text = listed.ReplaceAllString(text, "$1, $2") // list items, not thousands separators
	}
	f.read(text, true)
	return f
}

// read finds times, names and numbers. Each is removed from the text before the search for the next kind.
func (f *facts) read(text string, cited bool) {
	text = replaced(text, address, func(whole, _ string) string {
		f.names = append(f.names, strings.TrimRight(whole, ".,;:"))
		return blank(whole)
	})
	rest := []byte(text)
	for _, m := range moments(text) {
		f.moments = append(f.moments, m)
		copy(rest[m.from:], blank(text[m.from:m.to]))
	}
	text = comma.ReplaceAllString(string(rest), "$1, $2")
	before, joined := "", ""
	all := token.FindAllStringIndex(text, -1)
	for n, at := range all {
		next := ""
		if n+1 < len(all) && strings.TrimSpace(text[at[1]:all[n+1][0]]) == "" {
			next = text[all[n+1][0]:all[n+1][1]]
		}
		one := text[at[0]:at[1]]
		if n > 0 {
			joined = text[all[n-1][1]:at[0]] + one[:1]
		}
		f.at = n
		f.token(one, before, joined, next, cited)
		before = one
	}
	f.spread()
}

// token adds a word. joined is the text between it and the previous word.
func (f *facts) token(one, before, joined, next string, cited bool) {
	one = strings.TrimLeft(strings.TrimRight(one, ".,:;/'’#~—–\\_"), ".,:;'’#~—–\\_")
	signed := strings.HasPrefix(one, "-") || strings.HasPrefix(one, "−")
	bare := strings.TrimLeft(one, "+-−–—~#'’,")
	switch parts := ranged.FindStringSubmatch(bare); {
	case bare == "":
	case parts != nil && (numberLike(parts[1]) && numberLike(parts[2])):
		f.number(parts[1], "", "")
		f.number(parts[2], next, "")
	case f.number(map[bool]string{true: "-" + bare, false: bare}[signed && unicode.IsDigit(first(bare))], next, unitOfKey(before, joined)):
	case f.keyed(bare, next, cited):
	case isUnit(bare):
	case isName(bare):
		f.names = append(f.names, bare)
	default:
		f.word(bare, before, next)
	}
}

// ranged matches a range or a ratio of numbers.
var ranged = regexp.MustCompile(`^(\d[^-–—/]*)(?:-|–|—|/)(\d[^-–—/]*)$`)

func numberLike(text string) bool {
	_, ok := numberOf(text)
	return ok
}

// number adds a number. Its unit may be the next word, or the end of its key.
func (f *facts) number(text, next, key string) bool {
	n, ok := numberOf(text)
	if !ok {
		return false
	}
	next = strings.TrimRight(next, ".,:;)")
	if u, known := unitOf(next); known && n.units[0] == "" && (len(next) > 1 || u.of != ofCount || next == "%") {
		n.raw, n.units[0] = n.raw+" "+next, next
	}
	if n.units[0] == "" && key != "" {
		n.units[0] = key
	}
	if status.MatchString(text) { // "503s" are responses, and no seconds
		n.units = append(n.units, "")
	}
	n.at = f.at
	f.numbers = append(f.numbers, n)
	return true
}

var (
	status = regexp.MustCompile(`^[45]\d\ds$`)
	// key matches the key of a value with a unit: "latency_ms", "durationSeconds", "cpu_percent".
	key = regexp.MustCompile(`(?:_|-|\.|\p{Ll})(ns|us|ms|Ms|s|secs?|seconds?|Seconds|minutes?|Minutes|hours?|` +
		`bytes?|Bytes|kb|mb|gb|percent|Percent|pct)$`)
)

// unitOfKey returns the unit that the key of a number names; empty if there is none.
func unitOfKey(before, joined string) string {
	m := key.FindStringSubmatch(strings.TrimRight(before, ":"))
	if m == nil || !strings.ContainsAny(joined+before[len(before)-1:], ":=") {
		return ""
	}
	if at := len(strings.TrimRight(before, ":")) - len(m[1]); m[1][0] >= 'a' && unicode.IsLower(rune(before[at-1])) {
		return "" // "pods" ends with s
	}
	return strings.ToLower(m[1])
}

// keyed adds a pair such as "restarts:7", as programs write it.
func (f *facts) keyed(text, next string, cited bool) bool {
	name, value, ok := strings.Cut(text, ":")
	return ok && cited && !strings.ContainsAny(name, "./") && f.number(value, next, unitOfKey(name+":", ""))
}

// word adds a number that is written out. "One" is usually not a number.
func (f *facts) word(one, before, next string) {
	n, ok := words[strings.ToLower(one)]
	if !ok {
		return
	}
	after := strings.ToLower(strings.Trim(next, ".,;:"))
	if strings.EqualFold(one, "one") && (notOne[strings.ToLower(before)] || notOne[after] || after == "") {
		return
	}
	number := number{raw: one, value: n, digits: 1, units: []string{""}, at: f.at}
	if _, known := unitOf(strings.TrimRight(next, ".,:;)")); known && next != "x" && len(next) > 1 {
		number.units[0] = strings.TrimRight(next, ".,:;)")
		number.raw += " " + number.units[0]
	}
	f.numbers = append(f.numbers, number)
}

var notOne = map[string]bool{
	"of": true, "another": true, "more": true, "or": true, "the": true, "this": true, "that": true, "which": true, "each": true,
	"no": true, "any": true, "every": true, "is": true, "only": true,
}

// spread gives a number without a unit that of the next: "from 2 to 5 ms".
func (f *facts) spread() {
	for n := len(f.numbers) - 2; n >= 0; n-- {
		mine, next := &f.numbers[n], f.numbers[n+1]
		if near := next.at == mine.at || next.at == mine.at+2; near && mine.units[0] == "" && next.units[0] != "" {
			mine.units = append(mine.units[:1:1], next.units[0])
		}
	}
}

// none reports whether there is nothing to look for.
func (f facts) none() bool { return len(f.numbers)+len(f.moments)+len(f.names)+len(f.quotes) == 0 }

// missing returns the facts of a claim that are in none of the cited texts.
func (f facts) missing(cited []facts, called string) (out []string) {
	anywhere := func(present func(facts) bool) bool {
		for _, c := range cited {
			if present(c) {
				return true
			}
		}
		return false
	}
	for _, q := range f.quotes {
		if !anywhere(func(c facts) bool { return quotes(c.plain, q) }) {
			out = append(out, q)
		}
	}
	for _, name := range f.names {
		if !anywhere(func(c facts) bool { return has(c.plain, name) }) && !has(called, name) {
			out = append(out, name)
		}
	}
	for _, n := range f.numbers {
		if !anywhere(func(c facts) bool { return n.in(c.numbers) }) {
			out = append(out, n.raw)
		}
	}
	for _, m := range f.moments {
		if !anywhere(func(c facts) bool { return m.in(c.moments) }) {
			out = append(out, m.raw)
		}
	}
	return out
}

// quotes reports whether a text contains a quotation. An ellipsis in the quotation stands for omitted text.
func quotes(plain, quotation string) bool {
	said := strings.ToLower(fold(quotation).text)
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(said, "...", "…"), func(r rune) bool { return r == '…' }) {
		part = strings.Trim(part, " ,.;")
		i := strings.Index(plain, part)
		if !has(plain, part) {
			return false
		}
		plain = plain[i+len(part):]
	}
	return true
}

// replaced replaces the matches of form. inside is the first non-empty group.
func replaced(text string, form *regexp.Regexp, with func(whole, inside string) string) string {
	return form.ReplaceAllStringFunc(text, func(whole string) string {
		for _, group := range form.FindStringSubmatch(whole)[1:] {
			if group != "" {
				return with(whole, group)
			}
		}
		return with(whole, "")
	})
}

// blank returns spaces of the same length, which keep words apart.
func blank(text string) string { return strings.Repeat(" ", len(text)) }

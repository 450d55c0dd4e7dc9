package llm

import (
	"slices"
	"strings"
	"unicode"
)

// When a text counts as repeating itself: the same 30–500 characters at least
// five times in a row, within the last 6,000 (spec: agents, "Iterating pattern").
const (
	minUnit    = 30
	maxUnit    = 500
	minTimes   = 5
	windowSize = 6000
)

// checkEvery is how many characters may come between two checks. It must stay
// below minUnit*(minTimes-1), or a repetition could pass between two of them.
const checkEvery = 64

// Text collects a streamed text and notices when it begins to repeat itself, as
// models do that are stuck. The zero value is ready.
//
// The verdict does not depend on how the text was cut into chunks.
type Text struct {
	all    strings.Builder
	recent []rune // the end of the text: windowSize characters and more
	added  int    // how many of recent are not checked yet
	cut    int    // once it repeats: the length to keep, in bytes
	stuck  bool
	// patient: only a repetition that fills the window counts.
	patient bool
}

// Add appends a chunk and reports whether the text repeats itself. From then on
// it ignores what is added.
func (t *Text) Add(chunk string) (repeating bool) {
	for _, r := range chunk {
		if t.stuck {
			return true
		}
		t.all.WriteRune(r)
		t.recent = append(t.recent, r)
		if t.added++; t.added == checkEvery {
			t.check()
		}
	}
	if t.added > 0 && !t.stuck && !t.patient {
		t.check()
	}
	return t.stuck
}

// String returns the text; once it repeats itself, what came before the
// repetition: up to and with the first of the repeated units.
func (t *Text) String() string {
	if t.stuck {
		return t.all.String()[:t.cut]
	}
	return t.all.String()
}

// check looks for a repetition that became complete within the last added
// characters.
func (t *Text) check() {
	mark := len(t.recent) - t.added
	t.added = 0
	if end, ok := repetition(t.recent, mark, t.patient); ok {
		t.stuck = true
		t.cut = t.all.Len() - len(string(t.recent[end:]))
		return
	}
	if len(t.recent) >= 2*windowSize {
		t.recent = slices.Delete(t.recent, 0, len(t.recent)-windowSize)
	}
}

// repetition finds a run of equal units that was completed at or after mark, and
// returns where the first unit ends. A run of n units of length p is a stretch of
// (n-1)*p characters that each equal the one p before them; as a stretch is
// longer than what one check adds, it includes the character before mark. That
// one comparison rules out nearly every p, which keeps this cheap.
func repetition(text []rune, mark int, patient bool) (end int, ok bool) {
	if mark == 0 {
		return 0, false
	}
	probe, before := text[mark-1], text[:mark-1]
	for unit := minUnit; unit <= maxUnit && unit <= len(before); unit++ {
		if before[len(before)-unit] != probe {
			continue
		}
		first, last := stretch(text, mark-1, unit)
		if last-first < unit*(minTimes-1) {
			continue
		}
		length := last - first + unit
		if length >= windowSize || !patient && wordy(text[first-unit:first]) {
			return first, true
		}
		unit = length // a wordy unit around here is longer than this run of signs
	}
	return 0, false
}

// stretch returns the bounds of the longest stretch around at in which every
// character equals the one that stands unit before it.
func stretch(text []rune, at, unit int) (first, last int) {
	for first = at; first > unit && text[first-1] == text[first-1-unit]; {
		first--
	}
	for last = at + 1; last < len(text) && text[last] == text[last-unit]; {
		last++
	}
	return first, last
}

// wordy reports whether a unit says anything. A table's rule, a separator or
// padding is a long run of one sign and quite in order, so a unit without a
// letter or digit counts only when it fills the whole window.
func wordy(unit []rune) bool {
	return slices.ContainsFunc(unit, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

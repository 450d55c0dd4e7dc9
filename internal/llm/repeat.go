package llm

import (
	"slices"
	"strings"
	"unicode"
)

// A text counts as repeating itself if it contains the same 30–500 characters at least five times in a row, within the
// last 6,000 (spec: agents, "Iterating pattern").
const (
	minUnit    = 30
	maxUnit    = 500
	minTimes   = 5
	windowSize = 6000
)

// checkEvery is the maximum number of characters between two checks. It must be less than minUnit*(minTimes-1), or a
// repetition could occur unnoticed between two checks.
const checkEvery = 64

// Text collects streamed text and detects when it begins to repeat itself, as stuck models do. The zero value is ready.
//
// The result does not depend on how the text was cut into chunks.
type Text struct {
	all    strings.Builder
	recent []rune // the end of the text: windowSize characters and more
	added  int    // number of unchecked characters in recent
	cut    int    // once it repeats: the length to keep, in bytes
	stuck  bool
	// patient means that only a repetition that fills the window counts.
	patient bool
}

// Add appends a chunk and reports whether the text repeats itself. Once it does, further text is ignored.
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

// String returns the text. Once it repeats itself, that is the text up to and including the first of the repeated
// units.
func (t *Text) String() string {
	if t.stuck {
		return t.all.String()[:t.cut]
	}
	return t.all.String()
}

// check looks for a repetition that was completed within the last added characters.
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

// repetition finds a run of equal units that was completed at or after mark, and returns the end of the first unit. A
// run of n units of length p is a stretch of (n-1)*p characters that each equal the one p before them. A stretch is
// longer than one check adds, so it includes the character before mark. That one comparison rules out nearly every p,
// which keeps this cheap.
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
		unit = length // a wordy unit around here is longer than this run
	}
	return 0, false
}

// stretch returns the bounds of the longest stretch around at in which every character equals the one unit before it.
func stretch(text []rune, at, unit int) (first, last int) {
	for first = at; first > unit && text[first-1] == text[first-1-unit]; {
		first--
	}
	for last = at + 1; last < len(text) && text[last] == text[last-unit]; {
		last++
	}
	return first, last
}

// wordy reports whether a unit has a letter or digit. Table rules, separators and padding are legitimate long runs of
// one character, so units without letters and digits count only if they fill the whole window.
func wordy(unit []rune) bool {
	return slices.ContainsFunc(unit, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

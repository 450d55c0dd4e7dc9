package memory

import (
	"slices"
	"strings"
	"unicode"
)

const (
	maxWord    = 64        // characters; the rest of a longer word is ignored
	maxIndexed = 256 << 10 // bytes of a text's words that are indexed
	maxQuery   = 32        // words of a query
)

// Words returns the words under which a text can be found: in lower case, without endings. Both databases index exactly these
// words, so that searches give the same results. In scripts without spaces between words, each character is a word. Only the
// beginning of a very long text is indexed.
func Words(text string) []string {
	var words []string
	size := 0
	split(text, func(word string) bool {
		words = append(words, stem(word))
		size += len(word) + 1
		return size < maxIndexed
	})
	return words
}

// Query returns the distinct words of a query, at most 32.
func Query(query string) []string { return Distinct(query, maxQuery) }

// Distinct returns at most that many distinct words of a text, without common words unless there are no others. They contain only
// letters, marks and digits, whatever the text is.
func Distinct(text string, most int) []string {
	var words, common []string
	split(text, func(word string) bool {
		to := &words
		if strings.Contains(commonWords, " "+word+" ") {
			to = &common
		}
		if w := stem(word); !slices.Contains(*to, w) {
			*to = append(*to, w)
		}
		return len(words) < most
	})
	if len(words) == 0 {
		words = common
	}
	return words
}

// commonWords say nothing about the subject of a text.
const commonWords = " a about after all also am an and any are as at be been before but by can could did do does for from had has have " +
	"he her here him his how i if in into is it its just me more my no not now of on one or other our out over she should so some such than " +
	"the their them then there these they this those to up us was we were what when where which who why will with would you your "

// split calls yield with each word of the text in lower case, until it returns false.
func split(text string, yield func(word string) bool) {
	var word []rune
	end := func() bool {
		if len(word) == 0 {
			return true
		}
		w := string(word)
		word = word[:0]
		return yield(w)
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			if !end() {
				return
			}
			if unicode.IsLetter(r) && !yield(string(r)) {
				return
			}
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && len(word) > 0:
			if len(word) < maxWord {
				word = append(word, unicode.ToLower(r))
			}
		default:
			if !end() {
				return
			}
		}
	}
	end()
}

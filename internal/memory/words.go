package memory

import (
	"slices"
	"strings"
	"unicode"
)

const (
	maxWord    = 64        // characters; a longer word counts by its beginning
	maxIndexed = 256 << 10 // bytes of a text's words that are indexed
	maxQuery   = 32        // words of a query
)

// Words are the words that a text is found by: lower case, without endings. The
// databases index them as they are, so that a search finds the same in each. A
// script that puts no spaces between words gives one for each character. Of a
// very long text only the beginning is found.
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

// Query are the different words of a query, at most 32, without those that are
// in every text unless there are no others. There is nothing in them but
// letters, marks and digits, whatever the query is.
func Query(query string) []string {
	var words, common []string
	split(query, func(word string) bool {
		to := &words
		if strings.Contains(commonWords, " "+word+" ") {
			to = &common
		}
		if w := stem(word); !slices.Contains(*to, w) {
			*to = append(*to, w)
		}
		return len(words) < maxQuery
	})
	if len(words) == 0 {
		words = common
	}
	return words
}

// commonWords say nothing about what a text is about.
const commonWords = " a about after all also am an and any are as at be been before but by can could did do does for from had has have " +
	"he her here him his how i if in into is it its just me more my no not now of on one or other our out over she should so some such than " +
	"the their them then there these they this those to up us was we were what when where which who why will with would you your "

// split passes the words of a text on, in lower case, until yield is false.
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

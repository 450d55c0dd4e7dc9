package store

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

const (
	longestWord   = 64   // characters of a word that are indexed
	wordsIndexed  = 4000 // distinct words of an investigation
	wordsAskedFor = 16   // words of a search
)

// wordSet collects distinct words in the order of their first occurrence.
type wordSet struct {
	words []string
	known map[string]bool
	most  int
}

func newWordSet(most int) *wordSet { return &wordSet{known: map[string]bool{}, most: most} }

// add adds a word in lower case, up to the set's limit.
func (s *wordSet) add(word []rune) {
	text := strings.ToLower(string(word[:min(len(word), longestWord)]))
	if text != "" && !s.known[text] && len(s.words) < s.most {
		s.known[text] = true
		s.words = append(s.words, text)
	}
}

// text adds the words of a text: runs of letters, marks and digits. With parts, it also adds the parts of
// a compound such as OOMKilled, so that a search for "killed" finds it.
func (s *wordSet) text(text string, parts bool) {
	var word []rune
	end := func() {
		s.add(word)
		if parts {
			s.parts(word)
		}
		word = word[:0]
	}
	for _, r := range text {
		switch {
		case len(s.words) == s.most:
			return
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			// These scripts put no spaces between words.
			end()
			s.add([]rune{r})
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && len(word) > 0:
			word = append(word, r)
		default:
			end()
		}
	}
	end()
}

// parts adds the parts of a word that begin with a capital: of OOMKilled, "killed"; of PodCrash, "crash".
// The first part is a beginning of the word, which a search finds anyway.
func (s *wordSet) parts(word []rune) {
	begin := 0
	for i := 1; i <= len(word); i++ {
		capital := i < len(word) && unicode.IsUpper(word[i]) &&
			(!unicode.IsUpper(word[i-1]) || i+1 < len(word) && unicode.IsLower(word[i+1]))
		if capital || i == len(word) && begin > 0 {
			if begin > 0 && i-begin >= shortestIndexed {
				s.add(word[begin:i])
			}
			begin = i
		}
	}
}

// data adds the words of an alert. For JSON, these are the words of its keys and values, without escapes.
func (s *wordSet) data(data []byte) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if !json.Valid(data) || decoder.Decode(&value) != nil {
		s.text(string(data), true)
		return
	}
	s.value(value)
}

func (s *wordSet) value(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			s.text(key, true)
			s.value(value[key])
		}
	case []any:
		for _, of := range value {
			s.value(of)
		}
	case string:
		s.text(value, true)
	case json.Number:
		s.text(value.String(), false)
	}
}

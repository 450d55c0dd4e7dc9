package memory

import "strings"

// stem removes the most common endings of an English word: those of plurals and of verbs, and a final e. It follows steps 1 and 5a
// of M. F. Porter, An algorithm for suffix stripping (1980). Words of other languages change in the same way in texts and in
// queries, which does no harm.
func stem(word string) string {
	if len(word) < 3 || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return word
	}
	word = verb(plural(word))
	if root, ok := strings.CutSuffix(word, "y"); ok && hasVowel(root) {
		return root + "i"
	}
	if root, ok := strings.CutSuffix(word, "e"); ok && (measure(root) > 1 || measure(root) == 1 && !endsShort(root)) {
		return root
	}
	return word
}

func verb(word string) string {
	if root, ok := strings.CutSuffix(word, "eed"); ok {
		if measure(root) > 0 {
			return root + "ee"
		}
		return word
	}
	for _, ending := range []string{"ed", "ing"} {
		if root, ok := strings.CutSuffix(word, ending); ok && hasVowel(root) {
			return restore(root)
		}
	}
	return word
}

func plural(word string) string {
	switch {
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ies"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"), !strings.HasSuffix(word, "s"):
		return word
	}
	return word[:len(word)-1]
}

// restore repairs a root that the ending had changed: stopp(ed), creat(ed), us(ing).
func restore(root string) string {
	n := len(root)
	for _, ending := range []string{"at", "bl", "iz"} {
		if strings.HasSuffix(root, ending) {
			return root + "e"
		}
	}
	if n > 1 && root[n-1] == root[n-2] && !isVowel(root, n-1) && !strings.ContainsRune("lsz", rune(root[n-1])) {
		return root[:n-1]
	}
	if measure(root) == 1 && endsShort(root) {
		return root + "e"
	}
	return root
}

// measure counts how often a consonant follows a vowel.
func measure(word string) (m int) {
	for i := 1; i < len(word); i++ {
		if isVowel(word, i-1) && !isVowel(word, i) {
			m++
		}
	}
	return m
}

// endsShort reports whether a word ends with consonant, vowel, consonant, where the last is not w, x or y.
func endsShort(word string) bool {
	n := len(word)
	return n > 2 && !isVowel(word, n-3) && isVowel(word, n-2) && !isVowel(word, n-1) && !strings.ContainsRune("wxy", rune(word[n-1]))
}

func hasVowel(word string) bool {
	for i := range word {
		if isVowel(word, i) {
			return true
		}
	}
	return false
}

func isVowel(word string, i int) bool {
	return strings.ContainsRune("aeiou", rune(word[i])) || word[i] == 'y' && i > 0 && !isVowel(word, i-1)
}

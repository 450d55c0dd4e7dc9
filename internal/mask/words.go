package mask

import "strings"

// form is what secrets of a kind look like, wherever they stand.
type form struct {
	prefix string
	kinds  []kind // the first that is wanted
	min    int    // bytes after the prefix
	exact  bool   // … and no more
	guess  bool   // names can begin so too
	chars  func(byte) bool
}

const jwtStart = "eyJ" // base64 of {"

func isWordByte(c byte) bool   { return isAlnum(c) || c == '_' || c == '-' }
func isDottedByte(c byte) bool { return isWordByte(c) || c == '.' }
func isBase64Byte(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }
func isIDByte(c byte) bool     { return isUpper(c) || isDigit(c) }
func isHookByte(c byte) bool   { return isAlnum(c) || c == '/' }

var forms = concat(
	ofKind([]kind{githubToken, token}, 20, isWordByte, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	ofKind([]kind{slackToken, token}, 10, isWordByte, "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xapp-"),
	ofKind([]kind{slackToken}, 20, isHookByte, "hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
	[]form{{prefix: "AKIA", kinds: []kind{awsAccessKey}, min: 16, exact: true, chars: isIDByte},
		{prefix: "ASIA", kinds: []kind{awsAccessKey}, min: 16, exact: true, chars: isIDByte}},
	ofKind([]kind{gcpKey, apiKey}, 30, isWordByte, "AIza"),
	ofKind([]kind{gcpKey, token}, 20, isDottedByte, "ya29.", "GOCSPX-"),
	guesses([]kind{apiKey, token}, 16, isDottedByte, "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "SG.", "hf_", "npm_", "pypi-",
		"dop_v1_", "xai-", "gsk_", "nvapi-", "pplx-", "shpat_", "lin_api_", "figd_", "dapi", "rnd_", "NRAK-", "sntrys_", "tvly-", "phc_"),
	guesses([]kind{token}, 16, isDottedByte, "glpat-", "glrt-", "gldt-", "glsa_", "hvs.", "hvb.", "hvr.", "dckr_pat_", "sha256~", "ATATT3x", "pat-na1-"),
	ofKind([]kind{sshKey}, 40, isBase64Byte, "AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLXNz", "AAAAInNrLWVj"),
	ofKind([]kind{jwt, token}, 20, isDottedByte, jwtStart),
)

// prefixed are the kinds that words looks for.
var prefixed = func() set {
	all := setOf(token, basicAuth) // Bearer …, Basic …
	for _, f := range forms {
		all |= setOf(f.kinds...)
	}
	return all
}()

func ofKind(kinds []kind, min int, chars func(byte) bool, prefixes ...string) (out []form) {
	for _, prefix := range prefixes {
		out = append(out, form{prefix: prefix, kinds: kinds, min: min, chars: chars})
	}
	return out
}

func guesses(kinds []kind, min int, chars func(byte) bool, prefixes ...string) []form {
	out := ofKind(kinds, min, chars, prefixes...)
	for i := range out {
		out[i].guess = true
	}
	return out
}

func concat(all ...[]form) (out []form) {
	for _, forms := range all {
		out = append(out, forms...)
	}
	return out
}

// formsBy finds forms by their first byte.
var formsBy = func() (index [256][]form) {
	for _, f := range forms {
		index[f.prefix[0]] = append(index[f.prefix[0]], f)
	}
	return index
}()

// words masks what is a secret by its own form: ghp_…, AKIA…, eyJ….….…, Bearer ….
func (m *Masker) words(text string) string {
	s := wordScanner{set: m.on, rewrite: rewrite{text: text}}
	for i := 0; i < len(text); {
		c := text[i]
		forms, credentials := formsBy[c], c == 'B' || c == 'b'
		if len(forms) == 0 && !credentials || !startsWord(text, i) {
			i++
			continue
		}
		next := i + 1
		for _, f := range forms {
			next = max(next, s.form(f, i))
		}
		if credentials {
			next = max(next, s.credentials(i))
		}
		i = next
	}
	return s.String()
}

type wordScanner struct {
	set
	rewrite
	// hopeless is where a run of characters ends that is too plain for a token, or
	// for a guess: no part of it at its end is any better.
	hopelessJWT, hopelessGuess int
}

// form masks a secret of a form at i. It returns where that ends; i = there is none.
func (s *wordScanner) form(f form, i int) int {
	k := s.first(f.kinds)
	if k == none || i < s.done || !strings.HasPrefix(s.text[i:], f.prefix) {
		return i
	}
	hopeless := new(int)
	switch {
	case f.prefix == jwtStart:
		hopeless = &s.hopelessJWT
	case f.guess:
		hopeless = &s.hopelessGuess
	}
	start := i + len(f.prefix)
	end := start
	for i >= *hopeless && end < len(s.text) && f.chars(s.text[end]) {
		end++
	}
	if !f.fits(s.text, start, end) {
		*hopeless = max(*hopeless, end)
		return i
	}
	for s.text[end-1] == '.' { // of the sentence
		end--
	}
	if strings.HasSuffix(f.prefix, "/") {
		i = start
	}
	s.replace(i, end, k.marker())
	return end
}

// first is the first of some kinds that the set has.
func (s set) first(kinds []kind) kind {
	for _, k := range kinds {
		if s.has(k) {
			return k
		}
	}
	return none
}

// startsWord reports whether a word begins at i: after what is no letter, or after
// an escape sequence.
func startsWord(text string, i int) bool {
	switch {
	case i == 0 || !isAlnum(text[i-1]):
		return true
	case i >= 2 && text[i-2] == '\\':
		return strings.IndexByte("nrt", text[i-1]) >= 0
	case i >= 3 && text[i-3] == '%': // %3D
		return true
	}
	return i >= 6 && text[i-6] == '\\' && text[i-5] == 'u'
}

// fits reports whether text[start:end], which comes after the prefix, is such a secret.
func (f form) fits(text string, start, end int) bool {
	run := text[start:end]
	switch {
	case len(run) < f.min:
		return false
	case f.exact:
		return len(run) == f.min && (end == len(text) || !isAlnum(text[end]))
	case f.prefix == jwtStart: // three parts, or five; fewer if it was cut
		return end == len(text) || strings.Count(run, ".") >= 2 || strings.Contains(run, "."+jwtStart)
	}
	return !f.guess || mixed(run)
}

// mixed reports whether a run of characters is no name: it has digits, and capitals or length.
func mixed(run string) bool {
	const long = 24
	return strings.ContainsAny(run, "0123456789") && (len(run) >= long || strings.ToLower(run) != run)
}

// credentials masks what follows "Bearer" or "Basic" at i. It returns where that
// ends; i = there is none.
func (s *wordScanner) credentials(i int) int {
	k, start := token, i+len("bearer")
	if !hasWord(s.text, i, "bearer") {
		k, start = basicAuth, i+len("basic")
		if !hasWord(s.text, i, "basic") {
			return i
		}
	}
	after := start
	for start < len(s.text) && (isBlank(s.text[start]) || s.text[start] == '+') {
		start++
	}
	end := start
	for end < len(s.text) && start > after && (isDottedByte(s.text[end]) || isBase64Byte(s.text[end]) || s.text[end] == '~') {
		end++
	}
	if !s.has(k) || end-start < 8 || !random(s.text[start:end]) {
		return i
	}
	s.replace(start, end, k.marker())
	return end
}

func hasWord(text string, i int, word string) bool {
	return i+len(word) <= len(text) && strings.EqualFold(text[i:i+len(word)], word)
}

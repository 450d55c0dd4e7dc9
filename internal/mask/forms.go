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

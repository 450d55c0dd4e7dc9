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
func isHookByte(c byte) bool   { return isWordByte(c) || c == '/' || c == '@' }
func isHex(c byte) bool        { return isDigit(c) || c >= 'a' && c <= 'f' }
func isHashByte(c byte) bool   { return isAlnum(c) || strings.IndexByte("./$=,+", c) >= 0 }
func isTildeByte(c byte) bool  { return isDottedByte(c) || c == '~' }

var forms = concat(
	ofKind([]kind{githubToken, token}, 20, isWordByte, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	ofKind([]kind{slackToken, token}, 10, isWordByte, "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-",
		"xoxe.", "xapp-"),
	ofKind([]kind{slackToken}, 20, isHookByte, "hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
	ofKind([]kind{token}, 40, isHookByte, "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "webhook.office.com/webhookb2/"),
	exactly([]kind{awsAccessKey}, 16, isIDByte, "AKIA", "ASIA", "ABIA", "ACCA"),
	ofKind([]kind{gcpKey, apiKey}, 30, isWordByte, "AIza"),
	ofKind([]kind{gcpKey, token}, 20, isDottedByte, "ya29.", "GOCSPX-"),
	ofKind([]kind{gcpKey, token}, 40, isWordByte, "1//0"),
	// Of vendors: names can begin so too, and have no digits.
	guesses([]kind{apiKey, token}, 16, isDottedByte, "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk.eyJ", "SG.", "hf_",
		"npm_", "pypi-",
		"dop_v1_", "doo_v1_", "dor_v1_", "xai-", "gsk_", "nvapi-", "pplx-", "tvly-", "r8_", "lin_api_", "lin_oauth_", "figd_", "dapi",
		"rnd_", "phc_", "phx_",
		"NRAK-", "NRII-", "NRJS-", "sntrys_", "sntryu_", "dt0c01.", "dt0s01.", "PMAK-", "ntn_", "whsec_", "sq0atp-", "sq0csp-",
		"xkeysib-", "rzp_live_", "rzp_test_",
		"FLWSECK", "duffel_live_", "duffel_test_", "shippo_live_", "EZAK", "EZTK", "shpat_", "shpss_", "shpca_", "shppa_", "tskey-",
		"pscale_tkn_", "pscale_pw_", "pscale_oauth_",
		"sbp_", "pul-", "pnu_", "tfp_", "rdme_", "ico-", "dp.pt.", "dp.st.", "nfp_", "bkua_", "CCIPAT_", "HRKU-", "rubygems_",
		"clojars_", "access_token$production$", "p8e-", "sgp_", "fio-u-"),
	guesses([]kind{token}, 16, isDottedByte, "glpat-", "glrt-", "gldt-", "glcbt-", "gloas-", "glptt-", "glft-", "glagent-", "glimt-",
		"glffct-", "glsoat-", "GR1348941",
		"glsa_", "hvs.", "hvb.", "hvr.", "dckr_pat_", "dckr_oat_", "sha256~", "ATATT3x", "ATBB", "pat-na1-", "pat-eu1-", "sqp_",
		"squ_", "sqa_", "EAAC", "EAAM", "EAAG", "EAAB"),
	guesses([]kind{token, apiKey}, 50, isBase64Byte, "glc_", "fm1r_", "fm1a_", "fm2_", "fo1_", "ops_eyJ", "AQE",
		"AAAAAAAAAAAAAAAAAAAAA", "AKCp", "cmVmd", "xprv"),
	guesses([]kind{token}, 80, isBase64Byte, "IQoJ"), // a session of AWS
	// … and so short that they must have their length.
	exactly([]kind{apiKey, token}, 32, isHex, "SK", "key-"),
	exactly([]kind{token}, 24, isAlnum, "s."),
	exactly([]kind{apiKey, token}, 79, isDottedByte, "pat"),
	exactly([]kind{apiKey, token}, 36, isWordByte, "sdk-"),
	exactly([]kind{apiKey, token}, 26, isIDByte, "API-"),
	exactly([]kind{apiKey, token}, 43, isAlnum, "oy2"),
	exactly([]kind{apiKey, token}, 32, isAlnum, "cio"),
	exactly([]kind{apiKey, token}, 20, isAlnum, "LTAI"),
	ofKind([]kind{privateKey}, 50, isIDByte, "AGE-SECRET-KEY-1"),
	// What is left of a password: crypt(3) and its like.
	ofKind([]kind{password}, 20, isHashByte, "$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2id$", "$argon2i$",
		"{SSHA}", "pbkdf2_sha256$"),
	ofKind([]kind{sshKey}, 40, isBase64Byte, "AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLXNz", "AAAAInNrLWVj"),
	ofKind([]kind{jwt, token}, 20, isDottedByte, jwtStart),
)

// infix is what secrets of a kind have in their middle.
type infix struct {
	mid           string
	kinds         []kind
	before, after int // bytes: at the most, and at the least
	least         int // bytes before it
	left, right   func(byte) bool
}

var infixes = []infix{
	{"Q~", []kind{azureKey, secretKey}, 4, 31, 4, isTildeByte, isTildeByte},
	{":AA", []kind{token}, 10, 32, 8, isDigit, isWordByte}, // Telegram
	{".atlasv1.", []kind{token}, 14, 60, 14, isAlnum, isWordByte},
	{"-us", []kind{apiKey}, 32, 1, 32, isHex, isDigit}, // Mailchimp
	{"_mmk", []kind{apiKey}, 36, 0, 36, isWordByte, isDigit},
}

// middles masks what is a secret by its middle.
func (m *Masker) middles(text string) string {
	for _, f := range infixes {
		if k := m.on.first(f.kinds); k != none {
			text = f.mask(text, k)
		}
	}
	return text
}

func (f infix) mask(text string, k kind) string {
	out := rewrite{text: text}
	for i := 0; ; {
		next := strings.Index(text[i:], f.mid)
		if next < 0 {
			return out.String()
		}
		start, end := i+next, i+next+len(f.mid)
		i = end
		for low := max(out.done, start-f.before); start > low && f.left(text[start-1]); {
			start--
		}
		for end < len(text) && f.right(text[end]) {
			end++
		}
		if i-len(f.mid)-start >= f.least && end-i >= f.after && (end == len(text) || !isAlnum(text[end])) {
			out.replace(start, end, k.marker())
		}
		i = end
	}
}

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

func exactly(kinds []kind, length int, chars func(byte) bool, prefixes ...string) []form {
	out := ofKind(kinds, length, chars, prefixes...)
	for i := range out {
		out[i].exact = true
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
func (f *form) fits(text string, start, end int) bool {
	run := text[start:end]
	switch {
	case len(run) < f.min:
		return false
	case f.exact:
		return len(run) == f.min && (end == len(text) || !isAlnum(text[end])) && strings.ContainsAny(run, "0123456789")
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

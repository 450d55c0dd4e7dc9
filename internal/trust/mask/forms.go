package mask

import (
	"encoding/base64"
	"slices"
	"strings"
)

// form is the format of a kind of secret that is recognised anywhere.
type form struct {
	prefix string
	kinds  []kind // the first enabled one is used
	min    int    // bytes after the prefix
	exact  bool   // … and no more
	guess  bool   // ordinary names can begin in this way, too
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

var forms = slices.Concat(
	form{kinds: []kind{githubToken, token}, min: 20, chars: isWordByte}.with("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	form{kinds: []kind{slackToken, token}, min: 10, chars: isWordByte}.with(
		"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xapp-"),
	form{kinds: []kind{slackToken}, min: 20, chars: isHookByte}.with(
		"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
	form{kinds: []kind{token}, min: 40, chars: isHookByte}.with(
		"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "webhook.office.com/webhookb2/"),
	form{kinds: []kind{awsAccessKey}, min: 16, exact: true, chars: isIDByte}.with("AKIA", "ASIA", "ABIA", "ACCA"),
	form{kinds: []kind{gcpKey, apiKey}, min: 30, chars: isWordByte}.with("AIza"),
	form{kinds: []kind{gcpKey, token}, min: 20, chars: isDottedByte}.with("ya29.", "GOCSPX-"),
	form{kinds: []kind{gcpKey, token}, min: 40, chars: isWordByte}.with("1//0", "4/0A"),
	form{kinds: []kind{token}, min: 40, chars: isWordByte}.with("base64url.bearer.authorization.k8s.io."), // a WebSocket of Kubernetes
	// Vendors' formats. Ordinary names can begin in this way, too, but contain no digits.
	form{kinds: []kind{apiKey, token}, min: 16, guess: true, chars: isDottedByte}.with(
		"sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk.eyJ", "SG.", "hf_", "npm_", "pypi-", "dop_v1_", "doo_v1_", "dor_v1_",
		"xai-", "gsk_", "nvapi-", "pplx-", "tvly-", "r8_", "lin_api_", "lin_oauth_", "figd_", "dapi", "rnd_", "phc_", "phx_", "NRAK-",
		"NRII-", "NRJS-", "sntrys_", "sntryu_", "dt0c01.", "dt0s01.", "PMAK-", "ntn_", "whsec_", "sq0atp-", "sq0csp-", "xkeysib-",
		"rzp_live_", "rzp_test_", "FLWSECK", "duffel_live_", "duffel_test_", "shippo_live_", "EZAK", "EZTK", "shpat_", "shpss_",
		"shpca_", "shppa_", "tskey-", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sbp_", "pul-", "pnu_", "tfp_", "rdme_", "ico-",
		"dp.pt.", "dp.st.", "nfp_", "bkua_", "CCIPAT_", "HRKU-", "rubygems_", "clojars_", "access_token$production$", "p8e-", "sgp_",
		"fio-u-"),
	form{kinds: []kind{token}, min: 16, guess: true, chars: isDottedByte}.with(
		"glpat-", "glrt-", "gldt-", "glcbt-", "gloas-", "glptt-", "glft-", "glagent-", "glimt-", "glffct-", "glsoat-", "GR1348941",
		"glsa_", "hvs.", "hvb.", "hvr.", "dckr_pat_", "dckr_oat_", "sha256~", "ATATT3x", "ATBB", "pat-na1-", "pat-eu1-", "sqp_", "squ_",
		"sqa_", "EAAC", "EAAM", "EAAG", "EAAB"),
	form{kinds: []kind{token, apiKey}, min: 50, guess: true, chars: isBase64Byte}.with(
		"glc_", "fm1r_", "fm1a_", "fm2_", "fo1_", "ops_eyJ", "AQE", "AAAAAAAAAAAAAAAAAAAAA", "AKCp", "cmVmd", "xprv"),
	form{kinds: []kind{token}, min: 80, guess: true, chars: isBase64Byte}.with("IQoJ"), // an AWS session
	// … and prefixes so short that the length must match.
	form{kinds: []kind{apiKey, token}, min: 32, exact: true, chars: isHex}.with("SK", "key-"),
	form{kinds: []kind{token}, min: 24, exact: true, chars: isAlnum}.with("s."),
	form{kinds: []kind{apiKey, token}, min: 79, exact: true, chars: isDottedByte}.with("pat"),
	form{kinds: []kind{apiKey, token}, min: 36, exact: true, chars: isWordByte}.with("sdk-"),
	form{kinds: []kind{apiKey, token}, min: 26, exact: true, chars: isIDByte}.with("API-"),
	form{kinds: []kind{apiKey, token}, min: 43, exact: true, chars: isAlnum}.with("oy2"),
	form{kinds: []kind{apiKey, token}, min: 32, exact: true, chars: isAlnum}.with("cio"),
	form{kinds: []kind{apiKey, token}, min: 20, exact: true, chars: isAlnum}.with("LTAI"),
	// The base64 of PEM blocks, including truncated ones.
	form{kinds: []kind{privateKey}, min: 40, chars: isBase64Byte}.with("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBL", "LS0tLS1CRUdJTiBQUklWQVRFIEtF",
		"LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtF", "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ", "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBL"),
	form{kinds: []kind{privateKey}, min: 50, chars: isIDByte}.with("AGE-SECRET-KEY-1"),
	// Password hashes: crypt(3) and similar.
	form{kinds: []kind{password}, min: 20, chars: isHashByte}.with(
		"$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2id$", "$argon2i$", "{SSHA}", "pbkdf2_sha256$"),
	form{kinds: []kind{sshKey}, min: 40, chars: isBase64Byte}.with(
		"AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLXNz", "AAAAInNrLWVj"),
	form{kinds: []kind{jwt, token}, min: 20, chars: isDottedByte}.with(jwtStart),
)

// infix is the format of a kind of secret with a fixed middle part.
type infix struct {
	mid           string
	kinds         []kind
	before, after int // bytes: maximum before, minimum after
	least         int // minimum bytes before it
	left, right   func(byte) bool
}

var infixes = []infix{
	{"Q~", []kind{azureKey, secretKey}, 4, 31, 4, isTildeByte, isTildeByte},
	{":AA", []kind{token}, 10, 32, 8, isDigit, isWordByte}, // Telegram
	{".atlasv1.", []kind{token}, 14, 60, 14, isAlnum, isWordByte},
	{"-us", []kind{apiKey}, 32, 1, 32, isHex, isDigit}, // Mailchimp
	{"_mmk", []kind{apiKey}, 36, 0, 36, isWordByte, isDigit},
}

// middles masks secrets that are recognised by their middle part.
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
		mid := i + next
		i = mid + len(f.mid)
		start := back(text, mid, max(out.done, mid-f.before), f.left)
		end := past(text, i, f.right)
		if mid-start >= f.least && end-i >= f.after && (end == len(text) || !isAlnum(text[end])) {
			out.replace(start, end, k.marker())
		}
		i = end
	}
}

// prefixed are the kinds that words finds.
var prefixed = func() set {
	all := setOf(token, basicAuth) // Bearer …, Basic …
	for _, f := range forms {
		all |= setOf(f.kinds...)
	}
	return all
}()

// with returns forms that differ only in their prefixes.
func (f form) with(prefixes ...string) (all []form) {
	for _, f.prefix = range prefixes {
		all = append(all, f)
	}
	return all
}

// formsBy indexes forms by their first byte.
var formsBy = func() (index [256][]form) {
	for _, f := range forms {
		index[f.prefix[0]] = append(index[f.prefix[0]], f)
	}
	return index
}()

// fits reports whether text[start:end], which follows the prefix, is such a secret.
func (f *form) fits(text string, start, end int) bool {
	run := text[start:end]
	switch {
	case len(run) < f.min:
		return false
	case f.exact:
		return len(run) == f.min && (end == len(text) || !isAlnum(text[end])) && strings.ContainsAny(run, "0123456789")
	case f.prefix == jwtStart: // three parts or five; fewer if truncated
		cut := end == len(text) && !encodesDocument(text[start-len(f.prefix):end])
		return cut || strings.Count(run, ".") >= 2 || strings.Contains(run, "."+jwtStart)
	}
	return !f.guess || mixed(run)
}

// encodesDocument reports whether base64 encodes a complete JSON document: a page token of a list, not the beginning of a token.
func encodesDocument(run string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(run)
	return err == nil && isDocument(string(raw))
}

// mixed reports whether a run of characters is not a name: it has digits, and either capitals or length.
func mixed(run string) bool {
	const long = 24
	return strings.ContainsAny(run, "0123456789") && (len(run) >= long || strings.ToLower(run) != run)
}

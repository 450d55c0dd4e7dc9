package mask

import (
	"regexp"
	"strings"
)

// shape is a format that an expression recognises by the text around the secret, rather than by a key with a separator. Repetitions
// are bounded, so that the time stays linear in the text.
type shape struct {
	need string // required substring; texts without it are skipped
	re   *regexp.Regexp
	kind kind // of the group "secret"; none means that of the key in the group "name"
	// takes reports whether a value can be the secret; nil accepts any.
	takes func(value string) bool
	// line is a fast check for lines worth matching, in which case the expression applies to single lines; nil means that it
	// applies to the whole text.
	line func(line string) bool
}

var shapes = []shape{
	// A line of .pgpass: host:port:database:user:SECRET.
	{":", regexp.MustCompile(`^(?:[\w*.-]{1,250}|\[[0-9a-f:]{2,40}\]):(?:\*|[0-9]{4,5}):(?:[^:\s\\]|\\.){1,100}:(?:[^:\s\\]|\\.){1,100}:` +
		`(?P<secret>(?:[^:\s\\]|\\.){3,250})\r?$`), password, notANumber, fourColons},
	{"jdbc:oracle:", regexp.MustCompile(`jdbc:oracle:\w{1,10}:[^\s/:@"']{1,64}/(?:"` +
		`(?P<secret>[^"\n]{1,200})"|` +
		`(?P<other>[^\s@"]{1,200}))@`), databaseDSN, nil, nil},
	// A row of two cells in a terminal table: | password | SECRET |. Header rows contain names and types.
	{"|", regexp.MustCompile(`^[ \t]{0,20}\|[ \t*` + "`" + `]{0,20}(?P<name>[\w .-]{2,60}?)[ \t*` + "`" + `]{0,40}\|[ \t` + "`" +
		`]{0,40}(?P<secret>[^\s|` + "`" + `]{4,250})[ \t` + "`" + `]{0,200}\|[ \t]{0,20}\r?$`), none, notAWord, twoCells},
	{"onfig", regexp.MustCompile(`\b(?:aws configure|pulumi config|npm config|gcloud config) set ` +
		`(?:--?\w{1,20}[ =][^\s-]\S{0,60} ){0,3}(?P<name>[\w.:-]{2,80}) ` +
		`["']?(?P<secret>[^\s"'-][^\s"']{3,250})`), none, nil, nil},
	{"password-stdin", regexp.MustCompile(`\becho (?:-n )?["']?` +
		`(?P<secret>[^\s"'|$]{1,250})["']? {0,4}\|[^|\n]{1,200}--password-stdin`), password, nil, nil},
	{"chpasswd", regexp.MustCompile(`\becho (?:-n )?["']?[\w.-]{1,64}:` +
		`(?P<secret>[^\s"'|$]{1,250})["']? {0,4}\|[^|\n]{0,40}\bchpasswd`), password, nil, nil},
	{"nseal Key", regexp.MustCompile(`[Uu]nseal Key(?: [0-9]{1,2})?: {1,4}(?P<secret>[A-Za-z0-9+/=]{20,100})`), secretKey, nil, nil},
	{`"pass"`, regexp.MustCompile(`"pass" {0,4}: {0,4}"(?P<secret>[^"\n]{4,250})"`), password, notAResult, nil},
	{"pass:", regexp.MustCompile(`\buser(?:name)?[:=] ?[\w.@-]{1,64}[ ,;]{1,4}pass[:=] ?` +
		`(?P<secret>[^\s,;"']{4,250})`), password, notAResult, nil},
	{"</", regexp.MustCompile(`<(?P<name>[\w.:-]{2,60})[ \t][^<>]{1,200}>(?P<secret>[^<>\n]{1,250})</`), none, nil, nil},
	{"</", regexp.MustCompile(`<[\w.:-]{2,60}[ \t](?:key|name|id)=["'](?P<name>[\w.:-]{2,80})["'][^<>/]{0,100}>` +
		`(?P<secret>[^<>\n]{1,250})</`), none, nil, nil},
	{"snmp-server community", regexp.MustCompile(`snmp-server community (?P<secret>\S{1,64}) R[OW]\b`), password, nil, nil},
	{`variable "`, regexp.MustCompile(`\bvariable "(?P<name>[\w-]{2,80})"\s{0,4}\{[^{}]{0,300}?\bdefault\s{0,8}=\s{0,8}"` +
		`(?P<secret>[^"\n]{1,250})"`),
		none, nil, nil},
	{"consul kv put", regexp.MustCompile(`\bconsul kv put (?P<name>[\w./-]{2,200}) ["']?(?P<secret>[^\s"'@-][^\s"']{0,250})`), none, nil, nil},
	{"(", regexp.MustCompile(`\b(?:define|set|put|setdefault|setProperty|setenv|putenv|Setenv)\(\s?["'](?P<name>[\w.-]{2,60})["'], ?` +
		`["'](?P<secret>[^"'\n]{1,250})["']`), none, nil, nil},
	{"igest username=", regexp.MustCompile(`\b[Dd]igest username=[^\n]{0,800}?\bresponse="?(?P<secret>[0-9a-f]{32,128})`),
		authorization, nil, nil},
	{"-Signature", regexp.MustCompile(`-Signature"?: {0,4}"?t=[0-9]{1,12},v[01]=(?P<secret>[0-9a-f]{64})`), token, nil, nil}, // Stripe
	{" -> ", regexp.MustCompile(`(?m)^[ \t]{0,40}~ "?(?P<name>[\w.-]{2,60})"?[ \t]{1,60}= "[^"\n]{0,250}" -> ` + // a Terraform plan
		`"(?P<secret>[^"\n]{1,250})"`), none, nil, nil},
	{"net use", regexp.MustCompile(`\bnet use (?:\w:|\*)? ?\\\\[^\s\\]{1,250}\\\S{1,250} (?:/user:\S{1,100} )?` +
		`(?P<secret>[^\s/]\S{0,250})`), password, nil, nil},
	{"sp_add", regexp.MustCompile(`(?i)\bsp_addlogin\s{1,4}N?'[^'\n]{1,100}'\s{0,4},\s{0,4}N?'(?P<secret>(?:[^'\n]|''){1,250})'`),
		password, nil, nil},
	{"REPLACE", regexp.MustCompile(`(?i)\bidentified by \S{1,250} replace ["']?(?P<secret>[^\s"';]{1,250})`), password, nil, nil},
	{"PHPSESSID", regexp.MustCompile(`\bPHPSESSID=(?P<secret>[\w,-]{20,128})`), authorization, nil, nil},
	{`"kty"`, regexp.MustCompile(`"(?:d|k|p|q|dp|dq|qi)"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9_+/=-]{20,1000})"`), privateKey, nil, nil},
	{"<RSAKeyValue", regexp.MustCompile(`<(?:D|P|Q|DP|DQ|InverseQ)>(?P<secret>[A-Za-z0-9+/=\s]{20,1000})</`), privateKey, nil, nil},
	{"access_token$", regexp.MustCompile(`access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$(?P<secret>[0-9a-f]{32})\b`), token, nil, nil},
	{"/", regexp.MustCompile(`\b[0-9]/[0-9]{16}:(?P<secret>[0-9a-f]{32})\b`), token, nil, slashed}, // Asana
	{"jsonpath", regexp.MustCompile(`\bget secrets? [^\n]{0,200}jsonpath[^\n]{0,200}\n` +
		`(?P<secret>[A-Za-z0-9+/=_.-]{8,1000})`), kubernetesSecret, nil, nil},
	{" ", regexp.MustCompile(`\b(?P<secret>[3-6][0-9]{3} [0-9]{4} [0-9]{4} [0-9]{4})\b`), email, luhn, grouped},
	{"-", regexp.MustCompile(`\b(?P<secret>[3-6][0-9]{3}-[0-9]{4}-[0-9]{4}-[0-9]{4})\b`), email, luhn, grouped},
	{"3", regexp.MustCompile(`\b(?P<secret>3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5})\b`), email, luhn, grouped},
}

// shaped masks the secrets of all shapes.
func (m *Masker) shaped(text string) string {
	for _, s := range shapes {
		if strings.Contains(text, s.need) && (s.kind == none || m.on.first([]kind{s.kind}) != none) {
			text = s.mask(m, text)
		}
	}
	return m.inserts(text)
}

func (s shape) mask(m *Masker, text string) string {
	out := rewrite{text: text}
	if s.line == nil {
		s.replace(m, &out, span{0, len(text)})
		return out.String()
	}
	for from := 0; from < len(text); {
		var line span
		if line, from = lineOf(text, from); s.line(text[line.start:line.end]) {
			s.replace(m, &out, line)
		}
	}
	return out.String()
}

// replace masks the matches of the expression in a part of a text.
func (s shape) replace(m *Masker, out *rewrite, part span) {
	text, named := out.text, s.re.SubexpIndex("name")
	for _, at := range s.re.FindAllStringSubmatchIndex(text[part.start:part.end], -1) {
		for n := range at {
			if at[n] >= 0 {
				at[n] += part.start
			}
		}
		group := s.re.SubexpIndex("secret")
		if at[2*group] < 0 {
			group = s.re.SubexpIndex("other")
		}
		v := span{at[2*group], at[2*group+1]}
		value, k := text[v.start:v.end], s.kind
		if k == none {
			n := m.on.nameOf(text[at[2*named]:at[2*named+1]])
			if n == nil || !n.takes(value) {
				continue
			}
			k = n.kind
		}
		if isPlaceholder(value) || strings.Contains(value, markerStart) || s.takes != nil && !s.takes(value) {
			continue
		}
		marker := k.marker()
		if k == email { // the pattern covers personal data, and cards have no pattern of their own
			marker = markerStart + "_CARD_NUMBER]"
		}
		out.replace(v.start, v.end, marker)
	}
}

// fourColons reports whether a line can be one of a .pgpass file.
func fourColons(line string) bool {
	return strings.Count(line, ":") >= 4 && !strings.ContainsAny(line, " \t")
}

func twoCells(line string) bool { return strings.Count(line, "|") == 3 }

// slashed reports whether a line has a slash between digits.
func slashed(line string) bool {
	for i := 1; i+1 < len(line); i++ {
		if line[i] == '/' && isDigit(line[i-1]) && isDigit(line[i+1]) {
			return true
		}
	}
	return false
}

// grouped reports whether a line has four digits, a blank or a hyphen, and four more digits.
func grouped(line string) bool {
	run := 0 // digits before i
	for i := range len(line) {
		switch c := line[i]; {
		case isDigit(c):
			run++
			continue
		case (c == ' ' || c == '-') && run == 4 && i+4 < len(line) && allDigits(line[i+1:i+5]):
			return true
		}
		run = 0
	}
	return false
}

// notANumber reports whether a value has more than digits. Times and line numbers do not.
func notANumber(value string) bool { return strings.Trim(value, "0123456789.") != "" }

// notAWord reports whether a value is not a word or a type, as in tables of parameters.
func notAWord(value string) bool {
	return strings.Trim(value, "-:=+|") != "" && (random(value) || strings.ContainsAny(value, "!?#$%^&*@+=/~"))
}

// notAResult reports whether a value is not the result of a test.
func notAResult(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "pass", "passed", "fail", "failed", "success", "skip", "skipped", "error", "none", "null", "through":
		return false
	}
	return notANumber(value)
}

// luhn reports whether digits have the check digit of a card number.
func luhn(value string) bool {
	sum, even := 0, false
	for i := len(value) - 1; i >= 0; i-- {
		if !isDigit(value[i]) {
			continue
		}
		n := int(value[i] - '0')
		if even {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum, even = sum+n, !even
	}
	return sum%10 == 0
}

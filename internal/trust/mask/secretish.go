package mask

import (
	"slices"
	"strings"
)

const maxScheme = 24 // bytes

// schemes are authentication schemes in headers, which are followed by one word.
var schemes = []string{"bearer", "basic", "token", "apikey", "negotiate", "ntlm", "sso-key", "splunk", "key"}

// scheme returns the authentication scheme at the beginning of a value, including blanks: "Bearer "; empty means none.
func scheme(text string) string {
	end := strings.IndexAny(text[:min(len(text), maxScheme)], " \t")
	if end <= 0 {
		return ""
	}
	for _, word := range schemes {
		if !strings.EqualFold(text[:end], word) {
			continue
		}
		end = past(text, end, isBlank)
		if end == len(text) || isSpace(text[end]) {
			return ""
		}
		return text[:end]
	}
	return ""
}

// unset are values that mean no value.
var unset = []string{"true", "false", "null", "none", "nil", "~", "undefined", "<none>", "<nil>", "<unset>", `""`, "''", "{}"}

// isPlaceholder reports whether a value is empty, a marker, or only a reference to the secret.
func isPlaceholder(text string) bool {
	text = strings.TrimSpace(text)
	if end := len(text); text == "" || text == "0" || markerAt(text, 0) == end ||
		strings.Trim(text, "*•") == "" || end > 2 && strings.Trim(text, "xX") == "" {
		return true
	}
	if end := markerAt(text, 0); end > 0 && text[end] == '@' { // in a URL
		return true
	}
	for _, word := range unset {
		if strings.EqualFold(text, word) {
			return true
		}
	}
	for _, said := range []string{"password updated", "password changed", "password expiry", "password unchanged"} { // output of passwd
		if strings.HasPrefix(strings.ToLower(text[:min(len(text), len("password unchanged"))]), said) {
			return true
		}
	}
	return isReference(text) || isPath(text) || len(text) <= maxKey && isExpression(text)
}

// isReference reports whether a value only says where the secret will come from: ${NAME}, $(NAME), {{ name }}, or kubectl's
// description.
func isReference(text string) bool {
	if inner, begins := strings.CutPrefix(text, "$("); begins && strings.HasSuffix(inner, ")") && strings.ContainsAny(inner, " ") {
		return !strings.Contains(inner, "echo") && !strings.Contains(inner, "printf") // the output of a command
	}
	// Output of Ansible, kubectl and Terraform.
	for _, said := range []string{"!vault", "{{ lookup(", "<set to the key ", "(known after apply", "(sensitive"} {
		if strings.HasPrefix(text, said) {
			return true
		}
	}
	for _, around := range [][2]string{{"${", "}"}, {"$(", ")"}, {"{{", "}}"}, {"$", ""}} {
		inner, begins := strings.CutPrefix(text, around[0])
		inner, ends := strings.CutSuffix(inner, around[1])
		inner, _, _ = strings.Cut(strings.TrimSpace(inner), " | ") // a filter
		inner = strings.TrimSuffix(inner, ":-")                    // an empty default
		if begins && ends && !strings.ContainsFunc(inner, func(r rune) bool { return r > 'z' || !isKeyByte(byte(r)) }) {
			return around[1] != "" || inner == strings.ToUpper(inner) && !strings.ContainsAny(inner, "-.")
		}
	}
	return false
}

// typeWords are values that describe a value's type or absence. If "|" or "=" follows one, the line is program code.
var typeWords = []string{
	"str", "string", "text", "bytes", "bytea", "char", "varchar", "optional", "any", "object", "number", "int", "boolean",
	"expired", "invalid", "required", "missing", "incorrect", "wrong", "unknown", "hidden", "redacted", "masked", "removed", "omitted",
	"enabled", "disabled", "empty", "unset", "yes", "no", "none", "null", "undefined",
}

// sources are objects from which programs read values.
var sources = []string{"os", "process", "req", "request", "var", "local", "data", "env", "config", "cfg", "self", "this", "ctx",
	"settings", "module", "args", "opts", "options", "props", "params"}

// isExpression reports whether a value without quotes is a type, or an expression in a program.
func isExpression(text string) bool {
	text = strings.TrimLeft(text, "<[(")
	end := near(text, 0, maxKey, func(c byte) bool { return isKeyByte(c) && c != '-' })
	word, rest := text[:end], text[end:]
	if end == 0 || rest != "" && strings.IndexByte("([", rest[0]) >= 0 && !strings.ContainsAny(word, "0123456789") {
		return end > 0
	}
	first, attribute, dotted := strings.Cut(word, ".")
	if dotted && slices.Contains(sources, first) || strings.Contains(first, "_") && strings.Count(attribute, ".") == 1 && identifiers(word) {
		return true // the last condition matches an attribute of a Terraform resource
	}
	rest = strings.TrimLeft(strings.TrimLeft(rest, ">])"), ";,!?. ")
	return (rest == "" || rest[0] == '|' || rest[0] == '=') && slices.Contains(typeWords, strings.ToLower(word))
}

// identifiers reports whether a word consists of lower-case letters, "_" and dots.
func identifiers(word string) bool { return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_.") == "" }

// isPath reports whether a value is a file path: words between slashes.
func isPath(text string) bool {
	text = strings.TrimPrefix(text, "file:")
	return strings.Count(text, "/") >= 2 && text[0] == '/' && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '/' && r != '.' && r != '_' && r != '-' && (r < 'a' || r > 'z')
	})
}

// notAKey reports whether a value is not the name of a Secret's key, such as password or db-password.
func notAKey(text string) bool {
	last := text[strings.LastIndexAny(text, "-_.")+1:]
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz-_.") != "" ||
		!slices.Contains([]string{"password", "passwd", "username", "user", "token", "apikey", "key"}, last)
}

// long reports whether a word can only be a key or a token.
func long(text string) bool {
	return mixed(text) && (len(text) >= 16 && !strings.ContainsAny(text, " /.:") || len(text) >= 24 && !strings.Contains(text, " "))
}

// hex32 reports whether a word is 32 hexadecimal digits, like many keys.
func hex32(text string) bool { return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == "" }

// code reports whether a word is a code for typing: four to ten digits.
func code(text string) bool { return len(text) >= 4 && len(text) <= 10 && allDigits(text) }

// letters reports whether a value begins with a letter.
func letters(text string) bool { return isAlnum(text[0]) && !isDigit(text[0]) }

// random reports whether a word is unlikely to be a natural-language word: it has digits, or capitals inside, or is long.
func random(text string) bool {
	const long = 20
	for i := range len(text) {
		if isDigit(text[i]) || i > 0 && isUpper(text[i]) && isLower(text[i-1]) {
			return len(text) >= 6
		}
	}
	return len(text) >= long && !strings.Contains(text, " ")
}

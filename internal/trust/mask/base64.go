package mask

import (
	"crypto/md5"  //nolint:gosec // the length of checksums
	"crypto/sha1" //nolint:gosec // the length of checksums
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longBase64  = 24 // bytes
	shortBase64 = 4
)

// base64 masks runs of base64: long ones that look random, and short ones that are padded and are a key's value.
func (m *Masker) base64(text string) string {
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		if end := markerAt(text, i); end > 0 {
			i = end
			continue
		}
		if !isBase64Byte(text[i]) || text[i] == '=' {
			i++
			continue
		}
		end := past(text, i, func(c byte) bool { return isBase64Byte(c) && c != '=' })
		padding := paddingAt(text, end)
		end += padding
		if k := m.kindOfBase64(text[i:end], padding, padding > 0 && isValue(text, i)); k != none && !isPublic(text, i, end) {
			out.replace(i, end, k.marker())
		}
		i = end
	}
	return out.String()
}

// publicBefore lists prefixes of base64 that is not secret: request IDs, image data, and page tokens of lists.
var publicBefore = []string{
	";base64,", "req_", "x-amz-id-2: ", "hostid: ", "host id: ", "crc32c=", "nextpagetoken: ", "continuetoken: ", "continuation_token=",
	"continuationtoken: ",
}

// checksumBefore lists prefixes of checksums of modules, files and messages. The run must also have the length of a checksum.
var checksumBefore = []string{
	"h1:", "sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "sha-256=", "sha-512=", "md5=", "-sha256: ",
	"content-md5: ", "digest: ", "sec-websocket-accept: ",
}

// isPublic reports whether the base64 text[i:end] is a checksum or similar.
func isPublic(text string, i, end int) bool {
	before := strings.ToLower(text[max(0, i-24):i])
	marked := func(mark string) bool { return strings.HasSuffix(before, mark) }
	switch len(strings.TrimRight(text[i:end], "=")) * 6 / 8 {
	case md5.Size, sha1.Size, sha256.Size, sha512.Size384, sha512.Size:
		if slices.ContainsFunc(checksumBefore, marked) {
			return true
		}
	}
	return slices.ContainsFunc(publicBefore, marked)
}

// encodesText reports whether base64 encodes a JSON document, sentences or ordinary words. Secrets in these are searched in the
// decoded text.
func encodesText(run string) bool {
	const words = 6
	if len(run) > maxEncodedText {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(run)
	text := string(raw)
	if err != nil || !utf8.Valid(raw) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) {
		return false
	}
	notALetter := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	isRandom := func(word string) bool { return random(word) && !allDigits(word) }
	return isDocument(text) || len(strings.Fields(text)) >= words || !slices.ContainsFunc(strings.FieldsFunc(text, notALetter), isRandom)
}

const maxEncodedText = 4 << 10

// paddingAt counts the padding at i: "=" that is not an assignment.
func paddingAt(text string, i int) (n int) {
	for n < 2 && i+n < len(text) && text[i+n] == '=' {
		n++
	}
	if after := i + n; after < len(text) && !isSpace(text[after]) && strings.IndexByte("\"'`,;)]}<\\&", text[after]) < 0 {
		return 0
	}
	return n
}

// isValue reports whether the text at i follows a key.
func isValue(text string, i int) bool {
	if i > 0 && isQuote(text[i-1]) {
		i--
	}
	i = back(text, i, max(0, i-maxBlanks), isBlank)
	return i > 0 && (text[i-1] == ':' || text[i-1] == '=')
}

// kindOfBase64 classifies a run of base64. value means that it follows a key.
func (m *Masker) kindOfBase64(run string, padding int, value bool) kind {
	if len(run)%4 != 0 {
		return none
	}
	if len(run) < longBase64 {
		if m.on.has(base64Short) && value && len(run) >= shortBase64 {
			return base64Short
		}
		return none
	}
	var lowers, uppers, digits, slashes int
	for i := range len(run) {
		switch c := run[i]; {
		case isLower(c):
			lowers++
		case isUpper(c):
			uppers++
		case isDigit(c):
			digits++
		case c == '/':
			slashes++
		}
	}
	path := slashes*8 > len(run) // of a file system
	if m.on.has(base64Secret) && lowers > 0 && uppers > 0 && (digits > 0 || padding > 0) && !path && !encodesText(run) {
		return base64Secret
	}
	return none
}

// Package delivery reads the bodies of webhooks, in whatever coding and charset senders choose. It is apart from package webhook because
// the tables of charsets are large, and programs that only name alerts do not need them.
package delivery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/inquest-dev/inquest/internal/webhook"
)

// Reasons for refusing a body.
var (
	ErrTooLarge    = errors.New("the body is too large once it is decompressed")
	ErrUnsupported = errors.New(webhook.Accepted)
)

const formType = "application/x-www-form-urlencoded"

// Text returns the JSON in a delivery as UTF-8: decompressed to at most limit bytes, converted from its charset, without a byte order
// mark. A form becomes an object of its fields, or the JSON in its field payload. The note says whether characters were lost; an empty
// note means no. The error is ErrTooLarge or ErrUnsupported, or says what is wrong with the body.
func Text(header http.Header, raw []byte, limit int) (text []byte, note string, err error) {
	if raw, err = decompress(header, raw, limit); err != nil {
		return nil, "", err
	}
	media, params, _ := mime.ParseMediaType(header.Get("Content-Type")) // a wrong type costs nothing: the body counts
	if strings.HasPrefix(media, "multipart/") {
		return nil, "", fmt.Errorf("%s is not accepted: %w", media, ErrUnsupported)
	}
	charset, err := charsetOf(params["charset"], raw)
	if err != nil {
		return nil, "", err
	}
	if media == formType && !looksLikeJSON(raw) { // curl declares a form by default
		text, err = form(raw, charset)
	} else {
		text, err = convert(raw, charset)
	}
	if replaced := []byte("\ufffd"); bytes.Contains(text, replaced) && !bytes.Contains(raw, replaced) {
		note = "the body has characters that are not valid in its charset (UTF-8 unless Content-Type declares another): U+FFFD replaces them"
	}
	return text, note, err
}

// decompress recognizes gzip by its first bytes, because proxies decompress bodies and keep the header.
func decompress(header http.Header, raw []byte, limit int) ([]byte, error) {
	for coding := range strings.SplitSeq(strings.Join(header.Values("Content-Encoding"), ","), ",") {
		switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
		case "", "identity", "gzip", "x-gzip":
		default:
			return nil, fmt.Errorf("Content-Encoding %.40q is not accepted: %w", coding, ErrUnsupported)
		}
	}
	if !bytes.HasPrefix(raw, []byte("\x1f\x8b")) {
		return raw, nil
	}
	from, err := gzip.NewReader(bytes.NewReader(raw))
	var out []byte
	if err == nil {
		out, err = io.ReadAll(io.LimitReader(from, int64(limit)+1))
	}
	switch {
	case len(out) > limit:
		return nil, ErrTooLarge
	case err != nil:
		return nil, fmt.Errorf("the gzip body cannot be decompressed: %w", err)
	}
	return out, nil
}

// charsetOf returns the charset of a body. UTF-16 is recognized without a declaration: JSON begins with an ASCII character. UTF-8 is
// recognized against one: senders declare ISO-8859-1 and write UTF-8.
func charsetOf(label string, body []byte) (encoding.Encoding, error) {
	switch {
	case len(body) > 1 && body[0] == 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	case len(body) > 1 && body[1] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case writtenInUTF8(body):
		return unicode.UTF8, nil
	}
	if found, err := htmlindex.Get(label); err == nil && found != encoding.Replacement {
		return found, nil
	}
	if label != "" && !utf8.Valid(body) {
		return nil, fmt.Errorf("the charset %.40q is not accepted: %w", label, ErrUnsupported)
	}
	return unicode.UTF8, nil
}

// writtenInUTF8 reports whether a text is UTF-8, whatever charset its sender declares. It is false for ASCII, which says nothing: the
// escapes of ISO-2022-JP, for example, are ASCII.
func writtenInUTF8(text []byte) bool {
	return utf8.Valid(text) && bytes.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf })
}

// convert returns a text as UTF-8. A byte order mark, which senders on Windows write, overrides the charset.
func convert(text []byte, from encoding.Encoding) ([]byte, error) {
	out, _, err := transform.Bytes(unicode.BOMOverride(from.NewDecoder()), text)
	if err != nil {
		return nil, fmt.Errorf("convert the body to UTF-8: %w", err)
	}
	return out, nil
}

func looksLikeJSON(body []byte) bool {
	body = bytes.TrimLeft(body, "\ufeff \t\r\n\x00")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// form returns the JSON of a form.
func form(body []byte, charset encoding.Encoding) ([]byte, error) {
	values, err := url.ParseQuery(strings.ReplaceAll(string(body), ";", "%3B"))
	if err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	if plain, err := url.QueryUnescape(string(body)); err == nil && writtenInUTF8([]byte(plain)) {
		charset = unicode.UTF8
	}
	fields := map[string]any{}
	for key, raw := range values { // any order: of two keys that are the same text, either counts
		texts := []any{}
		for _, text := range append([]string{key}, raw...) {
			converted, err := convert([]byte(text), charset)
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(converted))
		}
		if name := texts[0].(string); len(raw) == 1 {
			fields[name] = texts[1]
		} else {
			fields[name] = texts[1:]
		}
	}
	if payload, ok := fields["payload"].(string); ok && looksLikeJSON([]byte(payload)) { // GitHub, Slack
		return []byte(payload), nil
	}
	return json.Marshal(fields)
}

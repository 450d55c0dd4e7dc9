package delivery

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	to := gzip.NewWriter(&b)
	_, err := to.Write([]byte(text))
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// utf16 returns ASCII as UTF-16.
func utf16(text string, bigEndian bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if bigEndian {
			b.Write([]byte{0, c})
		} else {
			b.Write([]byte{c, 0})
		}
	}
	return b.String()
}

// A body is read in the charset and coding that its header declares, and forms are read as well as JSON.
func TestBodies(t *testing.T) {
	t.Parallel()
	const form, replaced = "application/x-www-form-urlencoded", "the body has characters that are not valid in its charset"
	const limit = 1000
	for name, test := range map[string]struct {
		contentType, encoding, body string
		want, note                  string
		err                         error
	}{
		"UTF-8":                           {"application/json", "", `{"a":"ü"}`, `{"a":"ü"}`, "", nil},
		"UTF-8 with a byte order mark":    {"", "", "\xef\xbb\xbf{}", "{}", "", nil},
		"a mark against the charset":      {"application/json; charset=latin1", "", "\xef\xbb\xbf\"ü\"", `"ü"`, "", nil},
		"UTF-16 with a byte order mark":   {"", "", "\xff\xfe" + utf16("{}", false), "{}", "", nil},
		"UTF-16, big-endian, with a mark": {"", "", "\xfe\xff" + utf16("{}", true), "{}", "", nil},
		"UTF-16, declared":                {"application/json; charset=UTF-16", "", utf16("{}", true), "{}", "", nil},
		"UTF-16, undeclared":              {"application/json", "", utf16("{}", false), "{}", "", nil},
		"windows-1252":                    {"application/json; charset=windows-1252", "", "\"l\xe4uft \x80\"", `"läuft €"`, "", nil},
		"UTF-8 declared as ISO-8859-1":    {"application/json; charset=ISO-8859-1", "", `"Köln → 日本"`, `"Köln → 日本"`, "", nil},
		"ASCII in a charset of its own":   {"application/json; charset=ISO-2022-JP", "", "\"\x1b$B4A\x1b(B\"", `"漢"`, "", nil},
		"not all of it is UTF-8":          {"application/json; charset=ISO-8859-1", "", "\"\xc3\xbc \xe4\"", `"Ã¼ ä"`, "", nil},
		"ISO-8859-2":                      {`text/plain; charset="ISO-8859-2"`, "", "\"\xb1\"", `"ą"`, "", nil},
		"an unknown charset":              {"application/json; charset=utf8mb4", "", `"ü"`, `"ü"`, "", nil},
		"an unknown charset, not UTF-8":   {"application/json; charset=klingon", "", "\"\xe4\"", "", "", ErrUnsupported},
		"an undeclared charset":           {"application/json", "", "\"\xe4\"", "\"\ufffd\"", replaced, nil},
		"U+FFFD of the sender":            {"application/json", "", "\"\ufffd\"", "\"\ufffd\"", "", nil},
		"a type that is none":             {";;", "", "{}", "{}", "", nil},
		"gzip":                            {"application/json", "gzip", zipped(t, `{}`), "{}", "", nil},
		"gzip without a header":           {"application/json", "", zipped(t, `{}`), "{}", "", nil},
		"gzip that a proxy undid":         {"application/json", "gzip, identity", "{}", "{}", "", nil},
		"gzip in latin1":                  {"application/json; charset=latin1", "x-gzip", zipped(t, "\"\xe4\""), `"ä"`, "", nil},
		"as large as allowed":             {"", "gzip", zipped(t, strings.Repeat("x", limit)), strings.Repeat("x", limit), "", nil},
		"too large":                       {"", "gzip", zipped(t, strings.Repeat("x", limit+1)), "", "", ErrTooLarge},
		"broken gzip":                     {"", "gzip", zipped(t, "{}")[:15], "", "", nil},
		"brotli":                          {"", "br", "{}", "", "", ErrUnsupported},
		"a form": {form, "", "id=7&text=a+%C3%BC%3B;b&tag=x&tag=y&empty=",
			`{"empty":"","id":"7","tag":["x","y"],"text":"a ü;;b"}`, "", nil},
		"a form with a payload":                  {form, "", "payload=%7B%22a%22%3A1%7D&token=x", `{"a":1}`, "", nil},
		"a payload that is a text":               {form, "", "payload=hello", `{"payload":"hello"}`, "", nil},
		"a form in windows-1252":                 {form + "; charset=windows-1252", "", "text=%E4", `{"text":"ä"}`, "", nil},
		"a form in UTF-8 declared as ISO-8859-1": {form + "; charset=ISO-8859-1", "", "a=%C3%BC&%C3%A4=b", `{"a":"ü","ä":"b"}`, "", nil},
		"a form that is not all UTF-8":           {form + "; charset=ISO-8859-1", "", "a=%C3%BC&b=%E4", `{"a":"Ã¼","b":"ä"}`, "", nil},
		"a form that is not UTF-8":               {form, "", "text=%E4", "{\"text\":\"\ufffd\"}", replaced, nil},
		"JSON as a form, like curl":              {form, "", ` {"a":"1&b=2%"}`, ` {"a":"1&b=2%"}`, "", nil},
		"a broken form":                          {form, "", "a=%zz", "", "", nil},
		"a form with files":                      {"multipart/form-data; boundary=x", "", "--x", "", "", ErrUnsupported},
	} {
		header := http.Header{"Content-Type": {test.contentType}, "Content-Encoding": {test.encoding}}
		got, note, err := Text(header, []byte(test.body), limit)
		if string(got) != test.want || (err == nil) != (test.want != "") || test.err != nil && !errors.Is(err, test.err) ||
			!strings.HasPrefix(note, test.note) || (note == "") != (test.note == "") {
			t.Errorf("%s: %q, %q, %v", name, got, note, err)
		}
	}
}

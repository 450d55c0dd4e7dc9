package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// read returns the lines of a text, and the text after the last of them.
func read(t *testing.T, body io.Reader) (all []string, rest string) {
	t.Helper()
	lines := sse.NewLines(body)
	for {
		line, err := lines.Next(1 << 20)
		switch {
		case errors.Is(err, io.EOF):
			if more, err := lines.Next(1 << 20); len(more) > 0 || !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %q, %v", more, err)
			}
			return all, string(line)
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, tc := range map[string]struct {
		body string
		want []string
		rest string
	}{
		"nothing":                      {"", nil, ""},
		"each line end":                {"a\nb\rc\r\nd", []string{"a", "b", "c"}, "d"},
		"empty lines":                  {"\n\r\r\n\r\n\n", []string{"", "", "", "", ""}, ""},
		"a byte order mark":            {"\uFEFFa\n\uFEFFb\n", []string{"a", "\uFEFFb"}, ""},
		"two byte order marks":         {"\uFEFF\uFEFFa\n", []string{"\uFEFFa"}, ""},
		"a byte order mark at the end": {"\uFEFF", nil, ""},
		"half a byte order mark":       {"\xEF\xBBa\n", []string{"\xEF\xBBa"}, ""},
		"lines longer than the buffer": {long + "\r\n" + long + "\n" + long, []string{long, long}, long},
	} {
		for way, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "in bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				got, rest := read(t, cut(strings.NewReader(tc.body)))
				if diff := cmp.Diff(tc.want, got); diff != "" || rest != tc.rest {
					t.Errorf("rest %.20q, lines (-want +got):\n%s", rest, diff)
				}
			})
		}
	}
}

// TestLinesDoNotWait checks that a line that ends with CR is returned before the next byte arrives.
func TestLinesDoNotWait(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer out.Close()
	go func() { _, _ = out.Write([]byte("a\r")) }() // and then no more
	if line, err := sse.NewLines(in).Next(10); string(line) != "a" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestLimit checks that a line is refused while it arrives, and that nothing is read after it.
func TestLimit(t *testing.T) {
	t.Parallel()
	endless := strings.NewReader(strings.Repeat("x", 1<<20))
	lines := sse.NewLines(io.MultiReader(strings.NewReader("0123456789\n"), endless))
	if line, err := lines.Next(10); string(line) != "0123456789" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	for range 2 {
		if line, err := lines.Next(10); len(line) > 0 || !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("got %q, %v", line, err)
		}
	}
	if read := int(endless.Size()) - endless.Len(); read > 64<<10 {
		t.Errorf("%d bytes were read", read)
	}
}

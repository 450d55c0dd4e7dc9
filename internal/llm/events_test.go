package llm_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/llm"
)

// message is an event in the form of the tests.
type message struct{ Name, Data string }

// read returns the events of a stream that end with a blank line.
func read(t testing.TB, body io.Reader) (all []message) {
	t.Helper()
	events := llm.NewEvents(body)
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		case !e.Partial:
			all = append(all, message{e.Name, string(e.Data)})
		}
	}
}

// TestEventsOfTheStandard contains the cases of the web platform tests (folder eventsource, with the file of each) and
// the examples of the standard, 9.2.6.
func TestEventsOfTheStandard(t *testing.T) {
	t.Parallel()
	plain := func(data ...string) (all []message) {
		for _, d := range data {
			all = append(all, message{Data: d})
		}
		return all
	}
	tests := []struct {
		name, body string
		want       []message
	}{
		{"event-data", "data:msg\ndata:msg\n\n:\nfalsefield:msg\n\nfalsefield:msg\nData:data\n\ndata\n\ndata:end\n\n",
			plain("msg\nmsg", "", "end")},
		{"format-bom", "\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n", plain("1", "3")},
		{"format-bom-2", "\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3\n\n", plain("2", "3")},
		{"format-comments", "data:1\r:\x00\n:\r\ndata:2\n:" + strings.Repeat("x", 5000) + "\rdata:3\n:data:fail\r:" +
			strings.Repeat("x", 5000) + "\ndata:4\n\n", plain("1\n2\n3\n4")},
		{"format-data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", plain("test1")},
		{"format-field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", plain("", "\n", "test")},
		{"format-field-event", "event:test\ndata:x\n\ndata:x\n\n", []message{{"test", "x"}, {"", "x"}}},
		{"format-field-event-empty", "event: \ndata:data\n\n", plain("data")},
		{"format-field-parsing", "data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\n" +
			"data:3\rdata:\r\n data:32\ndata:4\n\n",
			plain("\x00\n 2\n1\n3\n\n4")},
		{"format-field-retry", "retry:3000\ndata:x\n\n", plain("x")},
		{"format-field-unknown", "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", plain("test\n\ntest")},
		{"format-leading-space", "data:\ttest\rdata: \ndata:test\n\n", plain("\ttest\n\ntest")},
		{"format-newlines", "data:test\r\ndata\ndata:test\r\n\r\n", plain("test\n\ntest")},
		{"format-null-character", "data:\x00\n\n", plain("\x00")},
		{"format-utf-8", "data:ok…\n\n", plain("ok…")},
		{"standard: stocks", "data: YHOO\ndata: +2\ndata: 10\n\n", plain("YHOO\n+2\n10")},
		{"standard: four blocks", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
			plain("first event", "second event", " third event")},
		{"standard: two events, one of them unfinished", "data\n\ndata\ndata\n\ndata:", plain("", "\n")},
		{"standard: a space is optional", "data:test\n\ndata: test\n\n", plain("test", "test")},
		{"lines that end with CR alone", "data: a\rdata: b\r\rdata: c\r\r", plain("a\nb", "c")},
		{"a name is forgotten at the end of an event", "event: x\n\ndata: a\n\n", plain("a")},
	}
	for _, tt := range tests {
		for _, way := range []struct {
			name string
			cut  func(io.Reader) io.Reader
		}{{"whole", func(r io.Reader) io.Reader { return r }}, {"byte by byte", iotest.OneByteReader}, {"with its end", iotest.DataErrReader}} {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff(tt.want, read(t, way.cut(strings.NewReader(tt.body)))); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestEventsBesidesTheStandard checks streams of real servers that the standard does not cover.
func TestEventsBesidesTheStandard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []llm.Event
		rest       string
	}{
		{name: "no line break at the end", body: "data: {}", want: []llm.Event{{Data: []byte("{}"), Partial: true}}},
		{name: "no blank line at the end", body: "data: {}\n", want: []llm.Event{{Data: []byte("{}"), Partial: true}}},
		{name: "no blank line between", body: "data: {\"a\":1}\ndata: {}\ndata: [DONE]\n\n", want: []llm.Event{
			{Data: []byte(`{"a":1}`)}, {Data: []byte("{}")}, {Data: []byte("[DONE]")}}},
		{name: "one value in several lines", body: "data: {\"a\":\ndata: {\"b\":\"}\"}\ndata: ,\"c\":[\ndata: {}\ndata: ]}\n\n",
			want: []llm.Event{
				{Data: []byte("{\"a\":\n{\"b\":\"}\"}\n,\"c\":[\n{}\n]}")}}},
		{name: "plain JSON", body: "{\n  \"data\": 1,\n  \"id\": 2\n}", rest: "{\n  \"data\": 1,\n  \"id\": 2\n}"},
		{name: "a web page", body: "<html>\ndata: x\n\n</html>", rest: "<html>\ndata: x\n</html>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events := llm.NewEvents(iotest.OneByteReader(strings.NewReader(tt.body)))
			var got []llm.Event
			e, err := events.Next()
			for ; err == nil; e, err = events.Next() {
				e.Data = []byte(string(e.Data))
				got = append(got, e)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || string(events.Rest()) != tt.rest {
				t.Errorf("rest %q, %v; events (-want +got):\n%s", events.Rest(), err, diff)
			}
		})
	}
}

// TestEventsDoNotDependOnPieces checks that the events are the same however the stream is split.
func TestEventsDoNotDependOnPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"data", ":", " ", "\r", "\n", "event", "id", "\uFEFF", "{", "}", "[DONE]", `"a"`, "x", "\x00", "<", "\xff",
		})).Draw(t, "body"), "")
		type outcome struct {
			all  []string
			rest string
		}
		run := func(r io.Reader) (out outcome) {
			events := llm.NewEvents(r)
			for {
				e, err := events.Next()
				if err != nil {
					out.rest = string(events.Rest())
					return out
				}
				out.all = append(out.all, fmt.Sprintf("%q %q %v", e.Name, e.Data, e.Partial))
			}
		}
		whole, pieces := run(strings.NewReader(body)), run(iotest.OneByteReader(strings.NewReader(body)))
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Fatalf("%q (-whole +pieces):\n%s", body, diff)
		}
	})
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// journal holds the results of one execution.
type journal struct {
	entries []transcript.Entry
	blobs   map[string]string
	err     error
}

func (j journal) Entries(_ context.Context, scope transcript.Scope) ([]transcript.Entry, error) {
	if scope != (transcript.Scope{Investigation: "inv", Execution: "s/A"}) {
		return nil, j.err
	}
	return j.entries, j.err
}

func (j journal) Blob(_ context.Context, hash string) ([]byte, error) {
	if text, ok := j.blobs[hash]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("gone")
}

func (j journal) Request(_ context.Context, investigation string) ([]byte, error) {
	return []byte("the data of " + investigation), j.err
}

// TestReadRequest checks that attached request data is read like a result.
func TestReadRequest(t *testing.T) {
	t.Parallel()
	j := results("one")
	if got := read(t, j, `{"ref":"request","offset":4}`); got.Content != "[bytes 4–15 of 15; the end]\ndata of inv" {
		t.Errorf("got %+v", got)
	}
	j.err = errors.New("down")
	if got := read(t, j, `{"ref":"request"}`); got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("got %+v", got)
	}
}

// results returns a journal with texts as the results 1/0, 2/0, …
func results(texts ...string) journal {
	j := journal{blobs: map[string]string{}}
	for i, text := range texts {
		call := transcript.Call{Name: "lab.read"}
		j.entries = append(j.entries,
			transcript.Entry{Key: transcript.CallKey(i+1, 0), Kind: transcript.KindCall, Body: transcript.Body{Call: &call}},
			transcript.Entry{Key: transcript.ResultKey(i+1, 0), Kind: transcript.KindResult, Body: transcript.Body{
				Call: &call, Text: text, Result: transcript.Result{Size: len(text)},
			}})
	}
	return j
}

func read(t *testing.T, j journal, args string) tool.Result {
	t.Helper()
	return ReadResult(j).Run(t.Context(), tool.Call{Investigation: "inv", Execution: "s/A", Iteration: 5, Arguments: json.RawMessage(args)})
}

func TestReadResult(t *testing.T) {
	t.Parallel()
	log := "one info\ntwo error é\nthree info\nfour error\n"
	wide := strings.Repeat("x", 1000) + " needle " + strings.Repeat("é", 1000)
	j := results(log, "été", "", wide)
	refuse := func(text string) tool.Result { return tool.Failure(tool.ErrorInvalidArguments, text) }
	tests := []struct {
		name, args string
		want       tool.Result
	}{
		{"the whole", `{"ref":"1/0"}`, tool.Success("[bytes 0–44 of 44; the end]\n" + log)},
		{"a page", `{"ref":"1/0","offset":4,"limit":5}`, tool.Success("[bytes 4–9 of 44; next offset: 9]\ninfo\n")},
		{"within a character", `{"ref":"2/0","offset":1,"limit":4}`, tool.Success("[bytes 0–3 of 5; next offset: 3]\nét")},
		{"a limit that is too small", `{"ref":"2/0","limit":1}`, tool.Success("[bytes 0–3 of 5; next offset: 3]\nét")},
		{"nothing", `{"ref":"3/0"}`, tool.Success("[bytes 0–0 of 0; the end]\n")},
		{"lines", `{"ref":"1/0","grep":"ERR|(?i)err"}`,
			tool.Success("[matching lines: 2, shown: 2; bytes 0–44 of 44; the end]\n2@9: two error é\n4@33: four error\n")},
		{"lines from an offset", `{"ref":"1/0","grep":"^f","offset":22}`,
			tool.Success("[matching lines: 1, shown: 1; bytes 22–44 of 44; the end]\n4@33: four error\n")},
		{"more lines than fit", `{"ref":"1/0","grep":"o","limit":30}`,
			tool.Success("[matching lines: 4, shown: 1; bytes 0–9 of 44; next offset: 9]\n1@0: one info\n")},
		{"no line", `{"ref":"1/0","grep":"fatal"}`, tool.Success("[matching lines: 0, shown: 0; bytes 0–44 of 44; the end]\n")},
		{"a long line", `{"ref":"4/0","grep":"needle"}`,
			tool.Success("[matching lines: 1, shown: 1; bytes 0–3008 of 3008; the end]\n1@851: " +
				strings.Repeat("x", 149) + " needle " + strings.Repeat("é", 171) + "\n")},
		{"an unknown result", `{"ref":"9/1"}`,
			refuse(`No result "9/1". Your results: 1/0 (lab.read, 44 bytes), 2/0 (lab.read, 5 bytes), 3/0 (lab.read, 0 bytes), 4/0 ` +
				`(lab.read, 3008 bytes).`)},
		{"no reference", `{"ref":"the last"}`,
			refuse(`No result "the last". Your results: 1/0 (lab.read, 44 bytes), 2/0 (lab.read, 5 bytes), 3/0 (lab.read, 0 bytes), ` +
				`4/0 (lab.read, 3008 bytes).`)},
		{"an offset behind the end", `{"ref":"2/0","offset":5}`, refuse("Offset 5 is out of range: the result has 5 bytes, so use 0 to 4.")},
		{"an offset before the start", `{"ref":"2/0","offset":-1}`, refuse("Offset -1 is out of range: the result has 5 bytes, so use 0 to 4.")},
		{"a bad expression", `{"ref":"1/0","grep":"("}`,
			refuse("grep is not a regular expression in RE2's syntax (error parsing regexp: missing closing ): `(`). Correct it, or leave it " +
				"out and read by offset.")},
		{"no object", `[]`,
			refuse("The arguments do not match the schema: json: cannot unmarshal array into Go value of type builtin.readIn")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, read(t, j, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadResultPageByPage checks that the pages together are the text, including text in a blob, and the same for
// matching lines that need several pages.
func TestReadResultPageByPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "línea %d ✓\n", i)
	}
	whole := b.String()
	j := results("the beginning")
	j.entries[1].Blob, j.blobs["h"] = "h", whole
	for _, grep := range []string{"", "✓"} {
		var got strings.Builder
		for offset, pages := 0, 0; offset < len(whole); pages++ {
			result := read(t, j, fmt.Sprintf(`{"ref":"1/0","offset":%d,"grep":%q}`, offset, grep))
			head, text, _ := strings.Cut(result.Content, "\n")
			if result.Status != tool.StatusSuccess || len(text) > 16_000 || !utf8.ValidString(text) || pages > 20 {
				t.Fatalf("page %d: %s, %d bytes", pages, head, len(text))
			}
			got.WriteString(unnumbered(text, grep))
			if _, next, more := strings.Cut(head, "next offset: "); !more {
				offset = len(whole)
			} else if _, err := fmt.Sscanf(next, "%d]", &offset); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != whole {
			t.Errorf("grep %q: the pages have %d bytes, the result %d", grep, got.Len(), len(whole))
		}
	}
}

// unnumbered removes the prefix that grep adds to each line.
func unnumbered(text, grep string) string {
	if grep == "" {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(line, ": ")
		out.WriteString(line)
	}
	return out.String()
}

// TestReadResultReadsEarlierResultsOnly checks that results of the same reply's calls are not readable, because that
// would depend on the order in which the calls end.
func TestReadResultReadsEarlierResultsOnly(t *testing.T) {
	t.Parallel()
	j := results("first", "beside")
	got := ReadResult(j).Run(t.Context(), tool.Call{Investigation: "inv", Execution: "s/A", Iteration: 2,
		Arguments: json.RawMessage(`{"ref":"2/0"}`)})
	want := tool.Failure(tool.ErrorInvalidArguments, `No result "2/0". Your results: 1/0 (lab.read, 5 bytes).`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadResultReadsItsOwnExecutionOnly(t *testing.T) {
	t.Parallel()
	j := results("secret of another")
	got := ReadResult(j).Run(t.Context(), tool.Call{Investigation: "inv", Execution: "s/B", Iteration: 5,
		Arguments: json.RawMessage(`{"ref":"1/0"}`)})
	if want := tool.Failure(tool.ErrorInvalidArguments, `No result "1/0". You have no results yet.`); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestReadResultWithoutAStore(t *testing.T) {
	t.Parallel()
	broken, lost := results("text"), results("text")
	broken.err = errors.New("database is locked")
	lost.entries[1].Blob = "lost"
	for _, j := range []journal{broken, lost} {
		if got := read(t, j, `{"ref":"1/0"}`); got.ErrorType != tool.ErrorUnavailable {
			t.Errorf("got %+v: it would not be tried again", got)
		}
	}
	if spec := ReadResult(broken).Spec; spec.Class() != tool.Safe || spec.Name != agent.ToolReadResult {
		t.Errorf("spec %+v", spec)
	}
}

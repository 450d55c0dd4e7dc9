package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Results is the store of results, by execution.
type Results interface {
	Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Request returns the data of an investigation's request.
	Request(ctx context.Context, investigation string) ([]byte, error)
}

// RefRequest is the reference to the request's data.
const RefRequest = "request"

// maxPage is how much of a result is read at a time, in bytes: about 4,000 tokens.
const maxPage = 16_000

var readResultSchema = json.RawMessage(`{"type":"object","properties":{
"ref":{"type":"string","description":"The reference of the result, such as 3/0 in \"kept in the transcript as 3/0\""},
"offset":{"type":"integer","minimum":0,"description":"Where to start, in bytes (default 0)"},
"grep":{"type":"string","description":"Show only the lines that match this regular expression (RE2), as line number@offset: text"},
"limit":{"type":"integer","minimum":1,"maximum":16000,"description":"Maximum number of bytes to show (default and maximum 16000)"}},
"required":["ref"],"additionalProperties":false}`)

// ReadResult returns the tool that reads those results of its execution that the model has seen only in part. It
// returns a page of a result, or the matching lines (spec: tools, "Results").
func ReadResult(results Results) Tool {
	return Tool{
		Spec: tool.Spec{
			Name: agent.ToolReadResult,
			Description: "Reads an earlier tool result that was summarised, shortened or hidden: " +
				"either a page from an offset, or the lines that match a regular expression.",
			Schema: readResultSchema,
			Risk:   agent.RiskReadOnly,
		},
		Run: reader{results}.run,
	}
}

type reader struct{ results Results }

// readIn holds the arguments.
type readIn struct {
	Ref    string `json:"ref"`
	Offset int    `json:"offset"`
	Grep   string `json:"grep"`
	Limit  int    `json:"limit"`
}

func (r reader) run(ctx context.Context, call tool.Call) tool.Result {
	in := readIn{Limit: maxPage}
	if err := json.Unmarshal(bytes.TrimSpace(call.Arguments), &in); err != nil {
		return invalid("The arguments do not match the schema: %v", err)
	}
	pattern, err := regexp.Compile(in.Grep)
	if err != nil {
		return invalid("grep is not a regular expression in RE2's syntax (%v). Correct it, or leave it out and read by offset.", err)
	}
	text, refusal := r.text(ctx, call, strings.TrimSpace(in.Ref))
	if refusal != nil {
		return *refusal
	}
	if in.Offset < 0 || in.Offset > 0 && in.Offset >= len(text) {
		return invalid("Offset %d is out of range: the result has %d bytes, so use 0 to %d.", in.Offset, len(text), max(len(text)-1, 0))
	}
	for !isStart(text, in.Offset) {
		in.Offset--
	}
	in.Limit = min(max(in.Limit, utf8.UTFMax), maxPage)
	if in.Grep != "" {
		return tool.Success(grep(text, pattern, in.Offset, in.Limit))
	}
	return tool.Success(page(text, in.Offset, in.Limit))
}

func invalid(format string, args ...any) tool.Result {
	return tool.Failure(tool.ErrorInvalidArguments, tool.ValidText(fmt.Sprintf(format, args...)))
}

// isStart reports whether an offset is at the start of a character, or at the start or end of the text.
func isStart(text string, offset int) bool {
	return offset <= 0 || offset >= len(text) || utf8.RuneStart(text[offset])
}

// text returns the full result for a reference.
func (r reader) text(ctx context.Context, call tool.Call, ref string) (string, *tool.Result) {
	if ref == RefRequest {
		data, err := r.results.Request(ctx, call.Investigation)
		if err != nil {
			return "", unreadable(err)
		}
		return tool.ValidText(string(data)), nil
	}
	scope := transcript.Scope{Investigation: call.Investigation, Execution: call.Execution}
	entries, err := r.results.Entries(ctx, scope)
	if err != nil {
		return "", unreadable(err)
	}
	// The model has not seen the results of parallel calls, and whether they have ended is a matter of chance.
	entries = slices.DeleteFunc(slices.Clone(entries), func(e transcript.Entry) bool { return e.Iteration >= call.Iteration })
	key, ok := transcript.ParseRef(ref)
	for _, e := range entries {
		if !ok || e.Kind != transcript.KindResult || e.Key != key {
			continue
		}
		text, err := e.Whole(ctx, r.results.Blob)
		if err != nil {
			return "", unreadable(err)
		}
		return tool.ValidText(text), nil
	}
	refusal := invalid("No result %q. %s", clip.Bytes(ref, 100), known(entries))
	return "", &refusal
}

func unreadable(err error) *tool.Result {
	result := tool.Failure(tool.ErrorUnavailable, "The results are currently unavailable: "+err.Error())
	return &result
}

// shownRefs is how many results a refusal names, counted from the end.
const shownRefs = 20

func known(entries []transcript.Entry) string {
	var refs []string
	for _, e := range entries {
		if e.Kind == transcript.KindResult && e.Call != nil {
			refs = append(refs, fmt.Sprintf("%s (%s, %d bytes)", e.Ref(), e.Call.Name, e.Size))
		}
	}
	if len(refs) == 0 {
		return "You have no results yet."
	}
	return "Your results: " + strings.Join(refs[max(0, len(refs)-shownRefs):], ", ") + "."
}

// page returns the text at an offset.
func page(text string, offset, limit int) string {
	shown := clip.Bytes(text[offset:], limit)
	return head("", offset, offset+len(shown), len(text)) + shown
}

// head says which bytes of a text follow, and where the next ones are.
func head(what string, from, to, size int) string {
	next := "the end"
	if to < size {
		next = fmt.Sprintf("next offset: %d", to)
	}
	return fmt.Sprintf("[%sbytes %d–%d of %d; %s]\n", what, from, to, size, next)
}

package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Limits on the parts of a transcript in one result, in bytes.
const (
	maxPage      = 24 << 10 // for all entries
	maxEntry     = 1500     // for each entry
	maxArguments = 400      // for each call
	maxWhole     = 16 << 10 // for an entry that is read in full
)

type transcriptArgs struct {
	ID     string `json:"id" minLength:"1" maxLength:"1000"`
	After  int64  `json:"after,omitempty" minimum:"0" doc:"value of next in the previous page"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"200" default:"50"`
	Entry  int64  `json:"entry,omitempty" minimum:"1" doc:"seq of an entry to read in full"`
	Offset int    `json:"offset,omitempty" minimum:"0" doc:"return the entry's text from this byte offset"`
}

type transcriptOut struct {
	Entries    []entryOut `json:"entries" nullable:"false"`
	Next       int64      `json:"next,omitempty" doc:"value of after for the next page; absent means that there are no more entries yet"`
	NextOffset int        `json:"next_offset,omitempty" doc:"value of offset to get the rest of the entry"`
	Notice     string     `json:"notice"`
}

type entryOut struct {
	Seq       int64           `json:"seq"`
	Agent     string          `json:"agent,omitempty" doc:"stage/agent; absent means the investigation itself"`
	Kind      transcript.Kind `json:"kind"`
	At        time.Time       `json:"at"`
	Text      string          `json:"text,omitempty"`
	Calls     []callOut       `json:"calls,omitempty" nullable:"false" doc:"tools called in this entry, or the tool that this entry is about"`
	Status    string          `json:"status,omitempty"`
	ErrorType string          `json:"error_type,omitempty"`
	Decision  string          `json:"decision,omitempty" doc:"a person's decision on the call, or that person's rule; who gave the result"`
	Bytes     int             `json:"bytes,omitempty" doc:"size of the full text in bytes; absent means that the text is complete"`
}

type callOut struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// transcriptTool reads a page, which ends early if it grows too long, or a single entry.
func (m *server) transcriptTool(ctx context.Context, _ *mcp.CallToolRequest, in transcriptArgs) (transcriptOut, error) {
	out := transcriptOut{Entries: []entryOut{}, Notice: untrusted}
	if in.Entry > 0 {
		in.After, in.Limit = in.Entry-1, 1
	}
	found, err := do(ctx, m, system.GetTranscript, system.TranscriptIn{
		ByID: system.ByID{ID: in.ID}, PartIn: system.PartIn{After: in.After, Limit: in.Limit},
	})
	if err != nil {
		return out, err
	}
	if in.Entry > 0 {
		return m.entry(ctx, found.Entries, in)
	}
	size := 0
	for n, e := range found.Entries {
		one := shortEntry(e)
		size += len(one.Text)
		for _, c := range one.Calls {
			size += len(c.Arguments)
		}
		if size > maxPage && n > 0 {
			out.Next = out.Entries[n-1].Seq
			return out, nil
		}
		out.Entries = append(out.Entries, one)
	}
	out.Next = found.Next
	return out, nil
}

func shortEntry(e transcript.Entry) entryOut {
	one := entryOut{
		Seq: e.Seq, Agent: e.Execution, Kind: e.Kind, At: e.At, Text: clip.Text(e.Text, maxEntry),
		Status: e.Status, ErrorType: e.ErrorType, Decision: e.Remarks(),
	}
	if size := max(len(e.Text), e.Size); size > len(one.Text) {
		one.Bytes = size
	}
	calls := e.Calls
	if e.Call != nil {
		calls = []transcript.Call{*e.Call}
	}
	for _, c := range calls {
		one.Calls = append(one.Calls, callOut{c.Name, clip.Text(c.Arguments, maxArguments)})
	}
	return one
}

// entry returns a single entry with as much of its text as fits.
func (m *server) entry(ctx context.Context, found []transcript.Entry, in transcriptArgs) (transcriptOut, error) {
	if len(found) == 0 || found[0].Seq != in.Entry {
		return transcriptOut{}, errNone
	}
	e := found[0]
	one := shortEntry(e)
	if err := m.opts.System.Text(ctx, &e.Text, e.Blob); err != nil {
		return transcriptOut{}, err
	}
	out := transcriptOut{Notice: untrusted}
	one.Text, out.NextOffset = part(e.Text, in.Offset, maxWhole)
	one.Bytes = len(e.Text)
	if e.Call != nil {
		one.Calls[0].Arguments = clip.Text(e.Call.Arguments, maxWhole)
	}
	out.Entries = []entryOut{one}
	return out, nil
}

type evidenceArgs struct {
	ID    string `json:"id" minLength:"1" maxLength:"1000"`
	After int    `json:"after,omitempty" minimum:"0" maximum:"1000000000" doc:"value of next in the previous page"`
}

type evidenceOut struct {
	Items   []evidence.Item  `json:"evidence" nullable:"false"`
	Next    int              `json:"next,omitempty" doc:"value of after for the next page; absent means that there are no more items"`
	Pending []string         `json:"pending,omitempty" nullable:"false" doc:"items that the agents did not examine"`
	Claims  []evidence.Claim `json:"claims,omitempty" nullable:"false" doc:"claims of the report, in order, with the evidence that they cite"`
	Uncited int              `json:"uncited,omitempty" doc:"number of sentences that state facts without citing evidence"`
	Notice  string           `json:"notice"`
}

const maxPieces = 25 // pieces of evidence in one result; the same limit applies to claims

func (m *server) evidenceTool(ctx context.Context, _ *mcp.CallToolRequest, in evidenceArgs) (evidenceOut, error) {
	found, err := do(ctx, m, system.GetEvidence, system.ByID{ID: in.ID})
	if err != nil {
		return evidenceOut{}, err
	}
	return evidencePage(found, in.After), nil
}

func evidencePage(e evidence.Evidence, after int) evidenceOut {
	out := evidenceOut{Items: []evidence.Item{}, Notice: untrusted}
	if after == 0 {
		out.Pending, out.Uncited = e.Pending, e.Uncited
	}
	if after+maxPieces < max(len(e.Items), len(e.Claims)) {
		out.Next = after + maxPieces
	}
	for _, item := range paged(e.Items, after) {
		item.Content = clip.Text(item.Content, maxEntry)
		out.Items = append(out.Items, item)
	}
	for _, claim := range paged(e.Claims, after) {
		claim.Text = clip.Text(claim.Text, maxEntry)
		out.Claims = append(out.Claims, claim)
	}
	return out
}

func paged[T any](all []T, after int) []T {
	return all[min(after, len(all)):min(after+maxPieces, len(all))]
}

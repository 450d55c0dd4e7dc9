package api

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/transcript"
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
	After  int64  `json:"after,omitempty" minimum:"0" doc:"next of the page before"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"200" default:"50"`
	Entry  int64  `json:"entry,omitempty" minimum:"1" doc:"the seq of one entry, to read its text in full"`
	Offset int    `json:"offset,omitempty" minimum:"0" doc:"read the text of entry from this byte on"`
}

type transcriptOut struct {
	Entries    []entryOut `json:"entries" nullable:"false"`
	Next       int64      `json:"next,omitempty" doc:"give it as after for the next ones; absent = there are none now"`
	NextOffset int        `json:"next_offset,omitempty" doc:"the entry goes on: give it as offset"`
	Notice     string     `json:"notice"`
}

type entryOut struct {
	Seq       int64           `json:"seq"`
	Agent     string          `json:"agent,omitempty" doc:"stage/agent; absent = the investigation itself"`
	Kind      transcript.Kind `json:"kind"`
	At        time.Time       `json:"at"`
	Text      string          `json:"text,omitempty"`
	Calls     []callOut       `json:"calls,omitempty" nullable:"false" doc:"tools that it calls, or whose call this belongs to"`
	Status    string          `json:"status,omitempty"`
	ErrorType string          `json:"error_type,omitempty"`
	Decision  string          `json:"decision,omitempty" doc:"what a person said of the call"`
	Bytes     int             `json:"bytes,omitempty" doc:"how long the text is; absent = that was all of it"`
}

type callOut struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// transcriptTool reads a page, which ends early if it grows too long, or a single entry.
func (m *mcpServer) transcriptTool(ctx context.Context, _ *mcp.CallToolRequest, in transcriptArgs) (transcriptOut, error) {
	out := transcriptOut{Entries: []entryOut{}, Notice: untrusted}
	o, err := m.owned(ctx, in.ID)
	if err != nil {
		return out, err
	}
	if in.Entry > 0 {
		in.After, in.Limit = in.Entry-1, 1
	}
	found, err := m.entriesOf(ctx, o.ID, PartIn{After: in.After, Limit: in.Limit})
	if err != nil {
		return out, err
	}
	if in.Entry > 0 {
		return m.entry(ctx, found.Body.Entries, in)
	}
	size := 0
	for n, e := range found.Body.Entries {
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
	out.Next = found.Body.Next
	return out, nil
}

func shortEntry(e transcript.Entry) entryOut {
	one := entryOut{
		Seq: e.Seq, Agent: e.Execution, Kind: e.Kind, At: e.At, Text: clip.Text(e.Text, maxEntry),
		Status: e.Status, ErrorType: e.ErrorType, Decision: e.Decision,
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
func (m *mcpServer) entry(ctx context.Context, found []transcript.Entry, in transcriptArgs) (transcriptOut, error) {
	if len(found) == 0 || found[0].Seq != in.Entry {
		return transcriptOut{}, errHidden
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
	After int    `json:"after,omitempty" minimum:"0" maximum:"1000000000" doc:"next of the page before"`
}

type evidenceOut struct {
	Items   []evidence.Item  `json:"evidence" nullable:"false"`
	Next    int              `json:"next,omitempty" doc:"give it as after for the next ones; absent = there are none"`
	Pending []string         `json:"pending,omitempty" nullable:"false" doc:"what was left to look at"`
	Claims  []evidence.Claim `json:"claims,omitempty" nullable:"false" doc:"of the report, in order, with the numbers of what they cite"`
	Uncited int              `json:"uncited,omitempty" doc:"sentences of the report that name facts and cite nothing"`
	Notice  string           `json:"notice"`
}

const maxPieces = 25 // pieces of evidence in one result; the same limit applies to claims

func (m *mcpServer) evidenceTool(ctx context.Context, _ *mcp.CallToolRequest, in evidenceArgs) (evidenceOut, error) {
	found, err := m.evidence(ctx, &ByID{in.ID})
	if err != nil {
		return evidenceOut{}, err
	}
	return evidencePage(found.Body, in.After), nil
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

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// StoreCheck compares the contents of the store for an investigation or a conversation with the references in Temporal's history.
type StoreCheck struct {
	ID      string `json:"id"`
	Running bool   `json:"running"`
	// Entries is the number of transcript entries in the store, and LastAt is the time of the newest.
	Entries int64     `json:"entries"`
	LastAt  time.Time `json:"last_at,omitzero"`
	// Referred is the number of entries that the history refers to. Missing lists those that the store lacks.
	Referred int            `json:"referred"`
	Missing  []MissingEntry `json:"missing,omitempty"`
	// Gaps is the number of unused entry numbers below the newest.
	Gaps int64 `json:"gaps,omitempty"`
	// Blobs lists the hashes of contents that the store refers to but lacks.
	Blobs []string `json:"missing_blobs,omitempty"`
	// Unrecorded means that the store has no record of an investigation that Temporal knows.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Error is why the check failed.
	Error string `json:"error,omitempty"`
}

// MissingEntry is an entry that the store has lost.
type MissingEntry struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
}

// Whole reports whether nothing is missing.
func (c StoreCheck) Whole() bool {
	return len(c.Missing)+len(c.Blobs) == 0 && c.Gaps == 0 && !c.Unrecorded && c.Error == ""
}

// CheckStore checks one investigation or conversation or, if id is empty, all that are running. It reads the histories of their
// workflows, which takes a while if there are many. It returns system.ErrNoStore without a store.
func (c *reader) CheckStore(ctx context.Context, id string) (all []StoreCheck, err error) {
	if _, err := c.needStore(ctx); err != nil {
		return nil, err
	}
	types := []string{workflows.TypeInvestigation, workflows.TypeConversation}
	if id != "" {
		h, err := c.find(ctx, id, types...)
		if err != nil {
			return nil, err
		}
		return []StoreCheck{c.checkOne(ctx, h)}, nil
	}
	conn, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, RunningOf(types...), 0) {
		if err != nil {
			return nil, fmt.Errorf("list running investigations: %w", err)
		}
		all = append(all, c.checkOne(ctx, handleOf(conn, info)))
	}
	slices.SortFunc(all, func(a, b StoreCheck) int { return cmp.Compare(a.ID, b.ID) })
	return all, ctx.Err()
}

func (c *reader) checkOne(ctx context.Context, h handle) StoreCheck {
	out := StoreCheck{ID: h.ID(), Running: h.Open}
	if err := c.compare(ctx, h, &out); err != nil {
		out.Error = err.Error()
	}
	return out
}

func (c *reader) compare(ctx context.Context, h handle, out *StoreCheck) error {
	st, err := c.needStore(ctx)
	if err != nil {
		return err
	}
	w := walker{conn: h.conn, data: c.keys.Converter(nil), seen: map[transcript.Mark]bool{}}
	if err := w.walk(ctx, h.Workflow, h.current); err != nil { // walk the history first, because the store may grow meanwhile
		return err
	}
	found, err := st.Check(ctx, out.ID)
	if err != nil {
		return err
	}
	out.Entries, out.LastAt, out.Gaps, out.Blobs, out.Referred = found.Entries, found.Last, found.Gaps, found.Blobs, len(w.seen)
	out.Unrecorded = !found.Recorded && w.investigation
	marks := slices.SortedFunc(func(yield func(transcript.Mark) bool) {
		for m := range w.seen {
			if !yield(m) {
				return
			}
		}
	}, func(a, b transcript.Mark) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.At, b.At)) })
	missing, err := st.Missing(ctx, out.ID, marks)
	for _, m := range missing {
		out.Missing = append(out.Missing, MissingEntry{m.Seq, time.UnixMicro(m.At).UTC()})
	}
	return err
}

// walker collects the entries that the histories of a workflow and its children refer to.
type walker struct {
	conn sdk.Client
	data converter.DataConverter
	seen map[transcript.Mark]bool
	// investigation means that the workflow has resolved its request, so it must have a record.
	investigation bool
}

func (w *walker) walk(ctx context.Context, workflowID, runID string) error {
	history := w.conn.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var children []string
	for history.HasNext() {
		event, err := history.Next()
		if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
			return fmt.Errorf("history of workflow %s: %w in Temporal", workflowID, record.ErrNotFound)
		}
		if err != nil {
			return fmt.Errorf("read the history of workflow %s: %w", workflowID, err)
		}
		for _, payload := range payloadsOf(event) {
			w.read(payload)
		}
		if child := event.GetChildWorkflowExecutionStartedEventAttributes(); child != nil {
			children = append(children, child.GetWorkflowExecution().GetWorkflowId())
			w.investigation = true
		}
	}
	for _, child := range children {
		err := w.walk(ctx, child, "") // its last run refers to all that earlier runs did
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
	}
	return nil
}

// payloadsOf returns the inputs and results of activities, including local ones, and the results of children in an event.
func payloadsOf(e *historypb.HistoryEvent) (all []*commonpb.Payload) {
	all = append(all, e.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads()...)
	all = append(all, e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()...)
	all = append(all, e.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()...)
	for _, detail := range e.GetMarkerRecordedEventAttributes().GetDetails() {
		all = append(all, detail.GetPayloads()...)
	}
	return all
}

// read extracts the marks from a payload. Payloads that are not JSON have none.
func (w *walker) read(p *commonpb.Payload) {
	var raw json.RawMessage
	if w.data.FromPayload(p, &raw) == nil {
		w.find(raw)
	}
}

// find looks for "seen" in an object and in its "ref", where activities and workflows put it.
func (w *walker) find(raw json.RawMessage) {
	var fields struct {
		Seen json.RawMessage `json:"seen"`
		Ref  json.RawMessage `json:"ref"`
		// State and Continued carry the marks from one run of a workflow to the next.
		State     json.RawMessage `json:"continued_state"`
		Continued json.RawMessage `json:"continued"`
		Agent     json.RawMessage `json:"agent"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	var one transcript.Mark
	var many []transcript.Mark
	if json.Unmarshal(fields.Seen, &one) == nil {
		many = []transcript.Mark{one}
	} else {
		_ = json.Unmarshal(fields.Seen, &many) // it may be absent
	}
	for _, m := range many {
		if m.Seq > 0 && m.At > 0 {
			w.seen[m] = true
		}
	}
	for _, below := range []json.RawMessage{fields.Ref, fields.State, fields.Continued, fields.Agent} {
		if len(below) > 0 && below[0] == '{' {
			w.find(below)
		}
	}
}

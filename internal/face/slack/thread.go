package slack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/lease"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// The kinds of messages besides record.ChatThread.
const (
	kindStatus = "status"
	kindReport = "report"
	kindFile   = "file"
	kindRoot   = "root" // the message that begins a thread of our own
)

// abandon is how long the face tries to post a report. Then the thread is left alone.
const abandon = 24 * time.Hour

// thread is an investigation whose thread is kept up to date by one goroutine.
type thread struct {
	*owner
	record.ChatMessage // the row of the thread

	state  record.Update // the newest of each part
	lost   string        // what does not answer; empty means that all do
	status record.ChatMessage
	shown  content   // of the status message; empty means unknown
	edited time.Time // when the status message was last written
	asked  map[string]content
}

// keepThread keeps a thread up to date until its report is posted.
func (o *owner) keepThread(ctx context.Context, row record.ChatMessage) {
	t := &thread{owner: o, ChatMessage: row, asked: map[string]content{}}
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := t.keep(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		o.opts.Logger.WarnContext(ctx, "a Slack thread is not up to date", "investigation", t.Investigation, "error", err)
		if refusal := (slack.SlackErrorResponse{}); errors.As(err, &refusal) && time.Since(t.At) > abandon {
			_ = t.done(ctx)
			return
		}
		if !lease.Sleep(ctx, wait) {
			return
		}
	}
}

// begin posts the message that the thread is below.
func (t *thread) begin(ctx context.Context) error {
	text := "Investigation " + t.Investigation + " has started."
	root, err := t.post(ctx, record.ChatMessage{
		Investigation: t.Investigation, Kind: kindRoot, Channel: t.Channel, State: record.ChatDone,
	}, content{text: text, blocks: []slack.Block{section(escape(text))}})
	if err != nil {
		return err
	}
	t.Thread = root.TS
	_, err = t.opts.Store.SetChatMessage(ctx, t.ChatMessage)
	return err
}

// keep follows the investigation to its end and posts the report.
func (t *thread) keep(ctx context.Context) error {
	if t.Thread == "" {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	h, err := t.opts.System.Find(ctx, t.Investigation)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return err
	}
	result := system.Result{}
	if err == nil { // otherwise it ended so long ago that Temporal has forgotten it
		if result, err = t.opts.System.Follow(ctx, h, math.MaxInt64, func(e system.Event) error { return t.take(ctx, e) }); err != nil {
			return err
		}
	}
	return t.end(ctx, result)
}

// take updates the thread. Follow combines what happens until take returns.
func (t *thread) take(ctx context.Context, e system.Event) error {
	if c := e.Connection; c != nil {
		t.lost = ""
		if !c.Lost.IsZero() {
			t.lost = c.To
		}
	}
	if u := e.Update; u != nil {
		if u.Record != nil {
			t.state.Record, t.state.Stages, t.state.Executions = u.Record, u.Stages, u.Executions
		}
		if u.Waits != nil {
			t.state.Waits = u.Waits
		}
	}
	if u := e.Update; u != nil && u.Waits != nil { // before the status, which may have to wait
		if err := t.showAsks(ctx, *u.Waits); err != nil {
			return err
		}
	}
	if t.state.Record == nil && e.Connection == nil {
		return nil
	}
	return t.showStatus(ctx, t.statusContent())
}

// showStatus posts or edits the status message, at most once every two seconds.
func (t *thread) showStatus(ctx context.Context, c content) (err error) {
	if reflect.DeepEqual(c, t.shown) {
		return nil
	}
	if t.status.TS == "" {
		t.status, err = t.post(ctx, record.ChatMessage{
			Investigation: t.Investigation, Kind: kindStatus, Channel: t.Channel, Thread: t.Thread,
		}, c)
		if err == nil {
			t.edited = time.Now()
		}
		return err // the next event edits a message that was posted before
	}
	if !lease.Sleep(ctx, max(0, time.Until(t.edited.Add(editEvery)))) {
		return ctx.Err()
	}
	if err = t.edit(ctx, t.status, c); err == nil {
		t.shown, t.edited = c, time.Now()
	}
	return err
}

// statusContent describes the investigation's current work and what it waits for.
func (t *thread) statusContent() content {
	r := t.state.Record
	if r == nil {
		r = &record.Investigation{ID: t.Investigation, Status: agent.StatusRunning}
	}
	c := content{text: fmt.Sprintf("Investigation %s: %s", r.WorkflowID, r.Status)}
	if why := r.EndReason.Words(r.Status); why != "" {
		c.text += ", " + why
	}
	lines := []string{fmt.Sprintf("*%s* · %s", escape(c.text), escape(r.Chain))}
	for _, s := range t.state.Stages {
		line := fmt.Sprintf("%s *%s*: %s", mark(s.Status), escape(s.Name), s.Status)
		var agents []string
		for _, x := range t.state.Executions {
			if x.Stage == s.Name && !x.Status.Closed() {
				agents = append(agents, fmt.Sprintf("%s (iteration %d)", strings.TrimPrefix(x.Name, x.Stage+"/"), x.Iterations))
			}
		}
		if len(agents) > 0 {
			line += " · " + escape(clip.Line(strings.Join(agents, ", "), 2*maxLine))
		}
		lines = append(lines, line)
	}
	if w := t.state.Waits; w != nil {
		for _, waits := range []struct {
			n    int
			what string
		}{
			{len(w.Approvals), "Calls that need approval"}, {len(w.Questions), "Questions that need an answer"},
			{len(w.Outages), "Unavailable providers and servers"},
		} {
			if waits.n > 0 {
				lines = append(lines, fmt.Sprintf(":hourglass: %s: %d", waits.what, waits.n))
			}
		}
	}
	if t.lost != "" {
		lines = append(lines, ":warning: "+t.lost+" is not responding")
	}
	for _, text := range sections(lines)[:1] {
		c.blocks = append(c.blocks, section(text))
	}
	use := fmt.Sprintf("Model calls: %d, tool calls: %d", r.Usage.ModelCalls, r.Usage.ToolCalls)
	if page := t.page(t.Investigation); page != "" {
		use += " · <" + page + "|Open the investigation>"
	}
	c.blocks = append(c.blocks, small(use))
	return c
}

// mark shows a status at a glance.
func mark(s agent.Status) string {
	switch {
	case s == agent.StatusCompleted:
		return ":white_check_mark:"
	case s.Closed():
		return ":x:"
	}
	return ":arrow_forward:"
}

// page returns the address of an investigation on the page; empty if there is none.
func (f *Face) page(id string) string { return system.PageOf(f.opts.PageURL, id) }

// end shows the final status and posts the report.
func (t *thread) end(ctx context.Context, result system.Result) error {
	w, err := t.opts.System.Whole(ctx, t.Investigation)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return err
	}
	r := w.Investigation
	if err != nil { // it was refused before a worker wrote a record
		r = record.Investigation{ID: t.Investigation, WorkflowID: t.Investigation}
		r.Status, r.Error, r.Report = result.Status, result.Error, result.Report
	}
	t.state = record.Update{Record: &r, Stages: w.Stages, Executions: w.Executions, Waits: &record.Waits{}}
	t.lost = ""
	if err := t.showAsks(ctx, record.Waits{}); err != nil {
		return err
	}
	for range 2 { // the first may only find the message that is there
		if err := t.showStatus(ctx, t.statusContent()); err != nil {
			return err
		}
	}
	var proof *evidence.Evidence
	if r.Envelope.Evidence != "" {
		if found, err := t.opts.System.Evidence(ctx, w); err == nil {
			proof = &found
		}
	}
	rep := report.Of(r, w.Stages, terminal.Summary(r), proof)
	c, whole := reportContent(rep, t.page(r.ID))
	if r.EndedAt != nil {
		c = c.reviewable(r.ID)
	}
	about := record.ChatMessage{Investigation: t.Investigation, Kind: kindReport, Channel: t.Channel, Thread: t.Thread, State: record.ChatDone}
	if _, err := t.post(ctx, about, c); err != nil {
		return err
	}
	if !whole {
		about.Kind = kindFile
		if err := t.upload(ctx, about, rep.Markdown()); err != nil {
			return err
		}
	}
	return t.done(ctx)
}

// done ends the work on the thread.
func (t *thread) done(ctx context.Context) error {
	row := t.ChatMessage
	row.State = record.ChatDone
	_, err := t.opts.Store.SetChatMessage(ctx, row)
	return err
}

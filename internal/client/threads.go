package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// AllThreads returns a page of conversations, newest first.
func (c *Client) AllThreads(ctx context.Context, in system.ThreadsIn) (system.Page[system.Thread], error) {
	return c.ThreadPage(ctx, in, only(in.Project))
}

func only(project string) []string {
	if project == "" {
		return nil
	}
	return []string{project}
}

// ThreadPage is AllThreads for someone who sees some projects; nil means all.
func (c *Client) ThreadPage(ctx context.Context, in system.ThreadsIn, projects []string) (out system.Page[system.Thread], err error) {
	out.Items = []system.Thread{} // not null in JSON
	f := record.ThreadFilter{Projects: projects, Agent: in.Agent, About: in.About, Limit: in.Limit + 1}
	if in.Limit <= 0 {
		f.Limit = 0
	}
	if err = readCursor(in.Cursor, &f.Before, &f.Before.ID); err != nil {
		return out, err
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return out, err
	}
	all, err := st.Threads(ctx, f)
	if err != nil {
		return out, err
	}
	if in.Limit > 0 && len(all) > in.Limit {
		all = all[:in.Limit]
		last := all[in.Limit-1]
		out.Next = cursorOf(record.Thread{ID: last.ID, StartedAt: last.StartedAt})
	}
	running, err := c.runningOf(ctx, all)
	if err != nil {
		return out, err
	}
	ids := make([]string, len(all))
	for n, t := range all {
		ids[n] = t.ID
		out.Items = append(out.Items, system.Thread{
			ID: t.ID, Thread: t.WorkflowID, Agent: t.Agent, Project: t.Project, About: t.About, Turns: t.Turns,
			Since: t.StartedAt, Active: t.ActiveAt, Closed: t.EndedAt != nil || !running[t.ID],
		})
	}
	if len(ids) == 0 {
		return out, nil
	}
	used, err := st.Usages(ctx, ids)
	for n := range out.Items {
		out.Items[n].Usage = used[ids[n]]
	}
	return out, err
}

// runningOf returns which conversations run according to Temporal. It does not ask if all have recorded their end.
func (c *Client) runningOf(ctx context.Context, all []record.Thread) (map[string]bool, error) {
	running, open := map[string]bool{}, false
	for _, t := range all {
		open = open || t.EndedAt == nil
	}
	if !open {
		return running, nil
	}
	conn, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, RunningOf(workflows.TypeConversation), 0) {
		if err != nil {
			return nil, fmt.Errorf("list the open conversations: %w", err)
		}
		running[handleOf(conn, info).ID()] = true
	}
	return running, nil
}

// FindTurns searches conversations.
func (c *Client) FindTurns(ctx context.Context, in system.FindTurnsIn) (system.Page[system.FoundTurn], error) {
	return c.TurnsWith(ctx, in, only(in.Project))
}

// TurnsWith is FindTurns for someone who sees some projects; nil means all.
func (c *Client) TurnsWith(ctx context.Context, in system.FindTurnsIn, projects []string) (out system.Page[system.FoundTurn], err error) {
	out.Items = []system.FoundTurn{}
	st, err := c.needStore(ctx)
	if err != nil {
		return out, err
	}
	found, err := st.FindTurns(ctx, record.ThreadFilter{Projects: projects, Agent: in.Agent, Words: in.Words, Limit: cmp.Or(in.Limit, 50)})
	for _, f := range found {
		out.Items = append(out.Items, system.FoundTurn{
			ID: f.Thread.ID, Thread: f.Thread.WorkflowID, Agent: f.Thread.Agent, Turn: f.Turn.N, Author: f.Turn.Author, At: f.Turn.At,
			Text: around(f.Texts, in.Words),
		})
	}
	return out, err
}

const aroundWord = 80 // characters before the first word found

// around returns the part of the texts around the first of the words.
func around(texts []string, words string) string {
	text := strings.Join(strings.Fields(strings.Join(texts, " · ")), " ")
	first := len(text)
	for _, word := range memory.Words(words) {
		if n := strings.Index(strings.Map(unicode.ToLower, text), word); n >= 0 {
			first = min(first, n)
		}
	}
	if first == len(text) {
		first = 0
	}
	head := []rune(clip.Bytes(text, first))
	from := len(string(head[:max(len(head)-aroundWord, 0)]))
	shown := clip.Line(text[from:], 3*aroundWord)
	if from > 0 {
		shown = "…" + shown
	}
	return shown
}

// Talk returns the conversation with an ID, or the latest with a name.
func (c *Client) Talk(ctx context.Context, id string) (system.Talk, error) {
	o, err := c.ThreadOwner(ctx, id)
	if err != nil {
		return system.Talk{}, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	out := system.Talk{ID: o.ID, Thread: name, Project: o.Project}
	st, err := c.Store(ctx)
	if err != nil {
		return out, err
	}
	if st != nil {
		t, err := st.Thread(ctx, o.ID)
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return out, err
		}
		out.Agent, out.About, out.Turns, out.Since, out.Active, out.Ended = t.Agent, t.About, t.Turns, t.StartedAt, t.ActiveAt, t.EndedAt
		if out.Usage, err = st.Usage(ctx, o.ID); err != nil {
			return out, err
		}
	}
	h, with, err := c.FindThread(ctx, name)
	if errors.Is(err, record.ErrNotFound) {
		return out, nil
	}
	if h.ID() == o.ID {
		out.Open, out.Agent = h.Open, cmp.Or(out.Agent, with)
	}
	return out, err
}

// ExportThread returns a conversation with its whole texts.
func (c *Client) ExportThread(ctx context.Context, in system.ExportThreadIn) ([]byte, error) {
	talk, err := c.Talk(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	whole := system.ThreadWhole{Talk: talk, Entries: []transcript.Entry{}}
	all, err := st.After(ctx, talk.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Superseded {
			continue
		}
		if e.Text, err = e.Whole(ctx, st.Blob); err != nil {
			return nil, fmt.Errorf("read entry %d of %s: %w", e.Seq, talk.ID, err)
		}
		whole.Entries = append(whole.Entries, e)
	}
	if in.Format == system.FormatJSON {
		return json.MarshalIndent(whole, "", "  ")
	}
	return []byte(markdownOf(whole)), nil
}

func markdownOf(w system.ThreadWhole) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Conversation %s\n\nAgent %s, project %s", w.ID, w.Agent, cmp.Or(w.Project, agent.DefaultProject))
	if w.About != "" {
		fmt.Fprintf(&out, ", about the investigation %s", w.About)
	}
	if !w.Since.IsZero() {
		fmt.Fprintf(&out, ", since %s", w.Since.UTC().Format(time.RFC3339))
	}
	out.WriteString("\n")
	transcript.Markdown(&out, w.Entries)
	return out.String()
}

package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Mailbox holds people's messages until the agents' next model calls (internal/store has the exact semantics).
type Mailbox interface {
	Post(ctx context.Context, letter transcript.Letter, stages []string) error
	TakeMail(ctx context.Context, scope transcript.Scope) ([]transcript.Letter, error)
	Unread(ctx context.Context, investigation string) ([]transcript.Letter, error)
}

// Post masks a person's message and puts it into the mailbox.
func (a *Activities) Post(ctx context.Context, in PostIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	return storeFailure(ended(ctx, a.post(ctx, in)))
}

func (a *Activities) post(ctx context.Context, in PostIn) error {
	plan, err := a.plan(ctx, in.Plan)
	if err != nil {
		return err
	}
	text, err := a.maskData(ctx, plan, "guidance", string(in.Text))
	if err != nil {
		return err
	}
	return a.Mail.Post(ctx, transcript.Letter{
		Investigation: in.Investigation, Source: in.Source, Ordinal: in.Ordinal, RunID: activity.GetInfo(ctx).WorkflowExecution.RunID,
		Agent: in.Agent, By: in.By, Text: text, At: time.Now(),
	}, in.Stages)
}

// HasMail reports whether an execution's next model call would read any letters.
func (a *Activities) HasMail(ctx context.Context, in HasMailIn) (out HasMailOut, err error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	known, err := a.Transcripts.LookupReply(ctx, in.Ref.scope(), in.Iteration, writerOf(ctx))
	out.Unread = known.Unread > 0
	return out, storeFailure(ended(ctx, err))
}

// Notice masks information for people and adds it to the transcript.
func (a *Activities) Notice(ctx context.Context, in NoticeIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	return storeFailure(ended(ctx, a.notice(ctx, in)))
}

func (a *Activities) notice(ctx context.Context, in NoticeIn) error {
	plan, err := a.plan(ctx, in.Plan)
	if err != nil {
		return err
	}
	text, err := a.maskData(ctx, plan, "guidance", in.Text)
	if err != nil {
		return err
	}
	_, err = a.Transcripts.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: in.Investigation, Execution: in.Source},
		Writer: writerOf(ctx),
		Rows: []transcript.Row{{
			Key: transcript.Key{Iteration: in.Ordinal}, Kind: transcript.KindNotice, Body: transcript.Body{Text: text},
		}},
	})
	return err
}

// addMail adds people's messages to the agent, if there are any. Guidance is for the agents that do the work, not for
// those that summarise or judge it.
func (g *generation) addMail(ctx context.Context) error {
	if g.unread == 0 || g.ref.Stage < 0 {
		return nil
	}
	letters, err := g.Mail.TakeMail(ctx, g.ref.scope())
	for _, l := range letters {
		text := prompt.Guidance(l.Text, l.By)
		if webhook.Speaks(l.By) {
			text = prompt.News(l.Text, l.By)
		}
		g.add(transcript.KindUser, transcript.Body{Text: text, Said: transcript.Said{Mail: l.Seq}})
	}
	return err
}

// returnMail removes the mail from the iteration, because no model will see it.
func (g *generation) returnMail() {
	rows := g.rows
	g.rows = nil
	for _, row := range rows {
		if row.Mail == 0 {
			g.add(row.Kind, row.Body)
		}
	}
}

// maxUndelivered is the maximum number of lines about unread messages.
const maxUndelivered = 50

// undelivered lists the unread messages. Unread alerts need another investigation.
func (a *Activities) undelivered(ctx context.Context, investigation string) (lines []string, err error) {
	letters, err := a.Mail.Unread(ctx, investigation)
	if a.Alerts != nil && slices.ContainsFunc(letters, func(l transcript.Letter) bool { return webhook.Speaks(l.By) }) {
		err = a.Alerts.AlertsUnread(ctx, investigation)
	}
	for n, l := range letters {
		if n == maxUndelivered {
			return append(lines, fmt.Sprintf("guide: %d more messages", len(letters)-n)), nil
		}
		line := "guide"
		if l.By != "" {
			line += " by " + l.By
		}
		if l.Agent != "" {
			line += " for " + l.Agent
		}
		lines = append(lines, fmt.Sprintf("%s: no model call followed: %q", line, preview(l.Text)))
	}
	return lines, err
}

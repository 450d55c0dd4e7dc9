package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Post masks a person's message and puts it into the mailbox.
func (a *Activities) Post(ctx context.Context, in PostIn) error {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	return job.StoreFailure(job.Ended(ctx, recorder{a.worker()}.post(ctx, in)))
}

func (a recorder) post(ctx context.Context, in PostIn) error {
	plan, err := a.ReadPlan(ctx, in.Plan)
	if err != nil {
		return err
	}
	text, err := a.MaskData(ctx, plan, "guidance", string(in.Text))
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
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	known, err := a.Transcripts.LookupReply(ctx, in.Ref.Scope(), in.Iteration, job.WriterOf(ctx))
	out.Unread = known.Unread > 0
	return out, job.StoreFailure(job.Ended(ctx, err))
}

// Notice masks information for people and adds it to the transcript.
func (a *Activities) Notice(ctx context.Context, in NoticeIn) error {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	return job.StoreFailure(job.Ended(ctx, recorder{a.worker()}.notice(ctx, in)))
}

func (a recorder) notice(ctx context.Context, in NoticeIn) error {
	plan, err := a.ReadPlan(ctx, in.Plan)
	if err != nil {
		return err
	}
	text, err := a.MaskData(ctx, plan, "guidance", in.Text)
	if err != nil {
		return err
	}
	_, err = a.Transcripts.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: in.Investigation, Execution: in.Source},
		Writer: job.WriterOf(ctx),
		Rows: []transcript.Row{{
			Key: transcript.Key{Iteration: in.Ordinal}, Kind: transcript.KindNotice, Body: transcript.Body{Text: text},
		}},
	})
	return err
}

// maxUndelivered is the maximum number of lines about unread messages.
const maxUndelivered = 50

// undelivered lists the unread messages. Unread alerts need another investigation.
func (a recorder) undelivered(ctx context.Context, investigation string) (lines []string, err error) {
	letters, err := a.Mail.Unread(ctx, investigation)
	if a.Alerts != nil && slices.ContainsFunc(letters, func(l transcript.Letter) bool { return webhook.Speaks(l.By) }) {
		err = a.Alerts.AlertsUnread(ctx, investigation)
	}
	for n, l := range letters {
		if n == maxUndelivered {
			return append(lines, fmt.Sprintf("guide: further messages: %d", len(letters)-n)), nil
		}
		line := "guide"
		if l.By != "" {
			line += " by " + l.By
		}
		if l.Agent != "" {
			line += " for " + l.Agent
		}
		lines = append(lines, fmt.Sprintf("%s: no model call followed: %q", line, job.Preview(l.Text)))
	}
	return lines, err
}

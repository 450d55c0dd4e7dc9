package modelcall

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// messageText returns a person's message in a conversation, masked like alert data.
func (g *briefing) messageText(ctx context.Context, input job.Input) (string, error) {
	text := input.Text
	if text == "" {
		var err error
		if text, err = g.Requests.Message(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, input.Run, input.Update); err != nil {
			return "", fmt.Errorf("read message %s: %w", input.Update, err)
		}
	}
	return g.MaskData(ctx, g.Plan, job.RequestData, text)
}

// inputTexts are the prompts for inputs without a text.
var inputTexts = map[job.InputKind]string{
	job.InputHeartbeat: prompt.Heartbeat, job.InputRepeating: prompt.Repeating,
	job.InputLimit: prompt.Conclude(agent.StopMaxIterations), job.InputConclude: prompt.Conclude(agent.StopConcluded),
	job.InputScore: prompt.ScoreReminder, job.InputMissing: prompt.MissingTools, job.InputAwake: prompt.Awake,
	job.InputAnswered: prompt.Answered,
	job.InputTools:    prompt.ToolsArrived,
}

// addInputs adds the workflow's inputs since the last call.
func (g *generation) addInputs(ctx context.Context, stored []transcript.Entry) (err error) {
	for _, input := range g.in.Inputs {
		kind, body, known := transcript.KindUser, transcript.Body{}, true
		switch input.Kind {
		case job.InputMessage:
			body.Text, err = g.messageText(ctx, input)
			body.By = input.By
		case job.InputBound:
			body.Text = prompt.Conclude(agent.StopReason(input.Text))
		case job.InputNudge:
			body.Text = g.nudge(stored)
		case job.InputRepair:
			body.Text = prompt.Repair(input.Text)
		case job.InputSubAgent:
			if body.Text, err = g.subResult(ctx, *input.Sub); err == nil {
				body.Untrusted, err = g.HasRead(ctx, input.Sub.Execution)
			}
		case job.InputNotice:
			kind = transcript.KindNotice
			body.Text, err = g.MaskData(ctx, g.Plan, "guidance", input.Text)
		default:
			body.Text, known = inputTexts[input.Kind]
		}
		if err != nil {
			return err
		}
		if known {
			g.add(kind, body)
		}
	}
	return nil
}

// addMail adds people's messages to the agent, if there are any. Guidance is for the agents that do the work, not for
// those that summarise or judge it.
func (g *generation) addMail(ctx context.Context) error {
	if g.unread == 0 || g.Ref.Stage < 0 {
		return nil
	}
	letters, err := g.Mail.TakeMail(ctx, g.Ref.Scope())
	for _, l := range letters {
		text := prompt.Guidance(l.Text, l.By)
		if webhook.Speaks(l.By) {
			text = prompt.News(l.Text, l.By)
		}
		g.add(transcript.KindUser, transcript.Body{Text: text, Said: transcript.Said{Mail: l.Seq}})
	}
	return err
}

// addGuide adds the guidance that a fork was started with, before the first own call of an agent. It is not for those that work on the
// results of others.
func (g *generation) addGuide() {
	if f := g.Plan.Fork; g.Ref.Agent >= 0 && f.Guides(g.Ref.Execution, g.in.Iteration) {
		g.add(transcript.KindUser, transcript.Body{Text: prompt.Guidance(f.Guide, f.By)})
	}
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

// subResult returns the text that tells an agent how an agent it dispatched has ended.
func (g *briefing) subResult(ctx context.Context, sub job.SubEnded) (string, error) {
	text := ""
	if sub.Status == agent.StatusCompleted {
		var err error
		if text, err = g.ResultText(ctx, g.Ref.Investigation, sub.Execution); err != nil {
			return "", err
		}
		if text, err = g.withEvidence(ctx, sub.Execution, text); err != nil {
			return "", err
		}
	}
	return prompt.SubResult(sub.Name, sub.Execution, string(sub.Status), sub.Error, text), nil
}

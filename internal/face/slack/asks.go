package slack

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/route"
)

// press is the value of a button: what was pressed, and the exact call or question that the message shows.
type press struct {
	Investigation string `json:"i"`
	Name          string `json:"n"` // of the call or question
	Digest        string `json:"d,omitempty"`
}

// The verbs are the IDs of buttons and of the modals that they open.
const (
	verbApprove = "approve" // a call
	verbDeny    = "deny"    // a call, with a reason
	verbEdit    = "edit"    // the arguments of a call, and approve it
	verbAnswer  = "answer"  // a question, with a text
	verbAccept  = "accept"  // a confirmation or a review
	verbReject  = "reject"  // a confirmation or a review, with a reason

	// Prefixes, followed by a record.Verdict or a record.ReviewAction.
	verbRate   = "rate-"
	verbReview = "review-"
)

// askPrefix begins the kinds of messages about a call or a question.
const askPrefix = "ask "

const maxValue = 2000 // characters of a button's value

// askKind is the kind of the message about a call or question. A call with other arguments gets another message.
func askKind(name, digest string) string {
	return fmt.Sprintf("%s%x", askPrefix, sha256.Sum256([]byte(name+"\n"+digest)))
}

// showAsks posts a message for each call and question that is waiting, and takes the buttons off those that are no longer.
func (t *thread) showAsks(ctx context.Context, w record.Waits) error {
	open := map[string]bool{}
	show := func(kind, name string, c content) error {
		open[kind] = true
		row := record.ChatMessage{Investigation: t.Investigation, Kind: kind, Channel: t.Channel, Thread: t.Thread, About: name}
		shown, known := t.asked[kind]
		if known && reflect.DeepEqual(shown, c) {
			return nil
		}
		row, err := t.post(ctx, row, c)
		if err == nil && known { // it was extended, or somebody has approved it as one of several
			err = t.edit(ctx, row, c)
		}
		if err == nil {
			t.asked[kind] = c
		}
		return err
	}
	for _, a := range w.Approvals {
		if record.Expired(a.Expires) {
			continue
		}
		if err := show(askKind(a.Name(), a.Digest), a.Name(), t.callContent(ctx, a)); err != nil {
			return err
		}
	}
	for _, q := range w.Questions {
		if record.Expired(q.Expires) || q.Answered {
			continue
		}
		if err := show(askKind(q.ID, ""), q.ID, t.questionContent(q)); err != nil {
			return err
		}
	}
	return t.closeAsks(ctx, open)
}

// closeAsks says in the messages of past calls and questions what became of them.
func (t *thread) closeAsks(ctx context.Context, open map[string]bool) error {
	rows, err := t.opts.Store.ChatMessages(ctx, t.Investigation)
	for _, row := range rows {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(row.Kind, askPrefix) || open[row.Kind] || row.State == record.ChatDone {
			continue
		}
		if row.TS == "" { // the process ended while it posted the message
			if row.TS, err = t.find(ctx, row); err != nil {
				return err
			}
		}
		if row.TS != "" {
			outcome := t.opts.System.Fate(ctx, t.Investigation, row.About)
			if outcome == "" {
				outcome = "no longer pending"
			}
			about, outcome := clip.Line(reveal.Text(row.About), maxLine), clip.Line(reveal.Text(outcome), maxSection/4)
			text := fmt.Sprintf("*%s*: %s", escape(about), escape(outcome))
			if err = t.edit(ctx, row, content{text: text, blocks: []slack.Block{section(text)}}); err != nil {
				return err
			}
		}
		row.State = record.ChatDone
		_, err = t.opts.Store.SetChatMessage(ctx, row)
	}
	return err
}

// callContent shows a call with all of its arguments. One that cannot be shown exactly gets no buttons.
func (t *thread) callContent(ctx context.Context, a record.Approval) content {
	whole := a.Bytes() <= maxText
	if whole && a.Bytes() > len(a.Arguments) {
		whole = t.opts.System.Text(ctx, &a.Arguments, a.ArgumentsRef) == nil && a.Bytes() == len(a.Arguments)
	}
	shown := reveal.Indented(a.Arguments, "")
	whole = whole && len(shown) <= maxText && !strings.Contains(shown, fence)
	when := "while it is paused"
	if !a.Expires.IsZero() {
		when = "at " + a.Expires.UTC().Format("15:04:05 MST")
	}
	head := fmt.Sprintf("*%s* asks to call *%s* (risk %s)",
		escape(reveal.Text(a.Execution)), escape(reveal.Name(a.Tool)), escape(string(a.Risk)))
	c := content{text: head, blocks: []slack.Block{section(clip.Line(head, maxSection))}}
	if !whole {
		c.blocks = append(c.blocks, section(fmt.Sprintf("The arguments (%d bytes) cannot be shown here exactly. Decide on the "+
			"web page, or run `starter inbox` and then `starter decide`.", a.Bytes())))
		return c
	}
	lines := append([]string{fence}, strings.Split(escape(shown), "\n")...)
	for _, text := range sections(append(lines, fence)) {
		c.blocks = append(c.blocks, section(text))
	}
	var facts []string
	for _, line := range append(append(a.Why(), a.Facts()...), a.HiddenNote(), a.Deadline(when)) {
		if line != "" {
			facts = append(facts, escape(clip.Line(reveal.Text(line), 3*maxLine)))
		}
	}
	for _, text := range sections(facts) {
		c.blocks = append(c.blocks, small(text))
	}
	buttons := []string{verbApprove, verbDeny}
	if a.Hidden == 0 { // otherwise the edited arguments would hold the marks of masking
		buttons = append(buttons, verbEdit)
	}
	return c.with(press{t.Investigation, a.Name(), a.Digest}, buttons...)
}

func (t *thread) questionContent(q record.Question) content {
	head := fmt.Sprintf("Stage *%s* asks (%s)", escape(reveal.Text(q.Stage)), escape(q.Kind))
	c := content{text: head, blocks: []slack.Block{section(clip.Line(head, maxSection))}}
	text := reveal.Text(q.Question)
	if len(q.Data) > 0 {
		text += "\n\n" + fence + "\n" + strings.ReplaceAll(reveal.Indented(string(q.Data), ""), fence, "'''") + "\n" + fence
	}
	size := 0
	for _, text := range sections(mrkdwn(text)) {
		if size += len(text); size > 2*maxText {
			c.blocks = append(c.blocks, small("The question is too long for Slack. Answer it on the web page or with `starter "+
				"answer`."))
			return c
		}
		c.blocks = append(c.blocks, section(text))
	}
	if q.Kind == string(route.Clarification) && !q.Review {
		return c.with(press{t.Investigation, q.ID, ""}, verbAnswer)
	}
	return c.with(press{t.Investigation, q.ID, ""}, verbAccept, verbReject)
}

// buttonTexts are the texts of buttons. Those with an ellipsis open a modal.
var buttonTexts = map[string]string{
	verbApprove: "Approve", verbDeny: "Deny …", verbEdit: "Edit and approve …",
	verbAnswer: "Answer …", verbAccept: "Approve", verbReject: "Reject …",
	rateAccurate: "Accurate …", ratePartly: "Partly accurate …", rateInaccurate: "Inaccurate …",
	reviewAcknowledge: "Acknowledge", reviewClaim: "Claim the review", reviewRelease: "Release the review",
	reviewReopen: "Reopen the review",
}

// with adds buttons.
func (c content) with(p press, verbs ...string) content {
	value, err := json.Marshal(p)
	if err != nil || len(value) > maxValue {
		c.blocks = append(c.blocks, small("The ID is too long for buttons in Slack. Use the web page or `starter`."))
		return c
	}
	var buttons []slack.BlockElement
	for _, verb := range verbs {
		button := slack.NewButtonBlockElement(verb, string(value), slack.NewTextBlockObject(slack.PlainTextType, buttonTexts[verb], false, false))
		switch verb {
		case verbApprove, verbAccept:
			button.Style = slack.StylePrimary
		case verbDeny, verbReject:
			button.Style = slack.StyleDanger
		}
		buttons = append(buttons, button)
	}
	c.blocks = append(c.blocks, slack.NewActionBlock("", buttons...))
	return c
}

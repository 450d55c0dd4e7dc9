package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// place is where a modal was opened: the private metadata of the modal.
type place struct {
	press
	Channel string `json:"c"`
	Thread  string `json:"t"`
}

// modals are the modals by verb: their title and the label of their input. optional: the input may stay empty. action: a second input asks
// what was done about the incident.
var modals = map[string]struct {
	title, label     string
	optional, action bool
}{
	verbDeny:       {"Deny the call", "Reason, shown to the agent", true, false},
	verbEdit:       {"Edit and approve", "Arguments in JSON", false, false},
	verbAnswer:     {"Answer the question", "Answer", false, false},
	verbReject:     {"Reject", "Reason", true, false},
	rateAccurate:   {"Rate as accurate", "Note", true, true},
	ratePartly:     {"Rate as partly accurate", "What was right or wrong", true, true},
	rateInaccurate: {"Rate as inaccurate", "What was wrong, such as the actual cause", true, true},
}

const (
	fieldText   = "text"   // ID of the input of a modal
	fieldAction = "action" // ID of the input for what was done
	fieldClaims = "claims" // ID of the input for ratings of single claims
	maxField    = 3000     // characters of an input
	maxHint     = 300      // characters of what is wrong with an input
)

// pressed takes a button. One with a modal opens it: nothing is decided before the person submits it.
func (f *Face) pressed(ctx context.Context, c slack.InteractionCallback, action *slack.BlockAction) error {
	where := place{Channel: c.Channel.ID, Thread: c.Message.ThreadTimestamp}
	if err := json.Unmarshal([]byte(action.Value), &where.press); err != nil {
		return nil // a button of an older program
	}
	in := input{Kind: action.ActionID, User: c.User.ID, Channel: where.Channel, Thread: where.Thread, Press: &where.press}
	modal, ok := modals[action.ActionID]
	if !ok {
		return f.take(ctx, "press "+in.Channel+" "+c.Message.Timestamp+" "+action.ActionID+" "+in.User+" "+action.ActionTs, in)
	}
	input := func(id, label string, most int) (*slack.InputBlock, *slack.PlainTextInputBlockElement) {
		field := slack.NewPlainTextInputBlockElement(nil, id)
		field.Multiline, field.MaxLength = true, most
		return slack.NewInputBlock(id, plain(label), nil, field), field
	}
	most := maxField
	switch {
	case action.ActionID == verbDeny:
		most = workflows.MaxReason
	case modal.action:
		most = system.MaxNote
	}
	block, field := input(fieldText, modal.label, most)
	block.Optional = modal.optional
	blocks := []slack.Block{block}
	if modal.action {
		done, _ := input(fieldAction, "Action taken", most)
		claims, words := input(fieldClaims, "Ratings of single claims", most)
		done.Optional, claims.Optional, words.Multiline = true, true, false
		claims.Hint = plain("NUMBER=RATING, such as 1=accurate 3=inaccurate. The page shows the claims with their numbers.")
		blocks = append(blocks, done, claims)
	}
	if action.ActionID == verbEdit {
		a, err := f.pending(ctx, in)
		if err != nil || len([]rune(a.Arguments)) > maxField {
			return f.tell(ctx, in, "These arguments cannot be edited here: the call has changed or is no longer pending, or "+
				"they are too long or not visible to you.")
		}
		field.InitialValue = a.Arguments
	}
	private, err := json.Marshal(where)
	if err != nil {
		return err
	}
	_, err = f.api.OpenViewContext(ctx, c.TriggerID, slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: action.ActionID, PrivateMetadata: string(private), Title: plain(modal.title),
		Submit: plain("Send"), Close: plain("Cancel"), Blocks: slack.Blocks{BlockSet: blocks},
	})
	return err
}

func plain(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
}

var errGone = errors.New("the call is no longer pending")

// pending returns the call of a button with all of its arguments, if the person may see it.
func (f *Face) pending(ctx context.Context, in input) (a record.Approval, err error) {
	p, err := f.who(ctx, in.User)
	if err != nil {
		return a, err
	}
	const all = 1000
	found, err := do(f.as(ctx, p), f, system.ListInbox, system.InboxIn{ID: in.Press.Investigation, Limit: all, Whole: true})
	for _, thing := range found.Items {
		if a := thing.Approval; a != nil && thing.Name == in.Press.Name && a.Digest == in.Press.Digest && a.ArgumentsRef == "" {
			return *a, nil
		}
	}
	return a, errors.Join(err, errGone)
}

// submitted takes a modal. answer shows what is wrong with its content.
func (f *Face) submitted(ctx context.Context, c slack.InteractionCallback) (answer any, err error) {
	var where place
	if err := json.Unmarshal([]byte(c.View.PrivateMetadata), &where); err != nil || c.View.State == nil {
		return nil, nil // a modal of an older program
	}
	in := input{Kind: c.View.CallbackID, User: c.User.ID, Channel: where.Channel, Thread: where.Thread, Press: &where.press}
	in.Text = strings.TrimSpace(c.View.State.Values[fieldText][fieldText].Value)
	in.Action = strings.TrimSpace(c.View.State.Values[fieldAction][fieldAction].Value)
	in.Claims = strings.TrimSpace(c.View.State.Values[fieldClaims][fieldClaims].Value)
	wrong := func(why string) (any, error) {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{fieldText: why}), nil
	}
	if _, err := system.ParseClaims("", strings.Fields(in.Claims)...); err != nil {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{fieldClaims: clip.Line(err.Error(), maxHint)}), nil
	}
	if in.Kind == verbEdit {
		if fields := map[string]json.RawMessage{}; json.Unmarshal([]byte(in.Text), &fields) != nil {
			return wrong("This is not a JSON object.")
		}
		masked, err := f.opts.Mask(ctx, in.Text)
		if err != nil {
			return nil, err
		}
		if masked != in.Text {
			return wrong("This looks like a secret, which must not be sent through Slack. Use the web page, or run " +
				"`starter inbox` and then `starter decide` or `starter answer`.")
		}
	}
	return nil, f.take(ctx, "view "+c.View.ID+" "+c.View.Hash, in)
}

// press carries out the decision of a button or a modal. It counts only for the call with the digest that the message shows.
func (w work) press(ctx context.Context) error {
	to, yes := system.ByID{ID: w.Press.Investigation}, w.Kind == verbApprove || w.Kind == verbEdit || w.Kind == verbAccept
	switch w.Kind {
	case verbApprove, verbDeny, verbEdit:
		body := system.DecideBody{CallID: w.Press.Name, Digest: w.Press.Digest, Approved: &yes}
		if body.Reason = w.Text; w.Kind == verbEdit {
			body.Arguments, body.Reason = json.RawMessage(w.Text), ""
		}
		_, err := do(ctx, w.Face, system.Decide, system.Steer[system.DecideBody]{ByID: to, Body: body})
		return w.outcome(ctx, to.ID, system.Decide.Name, err)
	case verbAnswer, verbAccept, verbReject:
		body := system.AnswerBody{ID: w.Press.Name, Text: w.Text}
		if w.Kind != verbAnswer {
			body.Approved = &yes
		}
		_, err := do(ctx, w.Face, system.Answer, system.Steer[system.AnswerBody]{ByID: to, Body: body})
		return w.outcome(ctx, to.ID, system.Answer.Name, err)
	}
	return w.review(ctx)
}

// outcome says why a decision failed. It may be that an earlier attempt carried it out, and that the process was killed before this was
// recorded. Then the message about the call says so already.
func (w work) outcome(ctx context.Context, investigation, operation string, err error) error {
	if err == nil {
		return nil
	}
	if _, status := w.opts.Explain(ctx, operation, err); status == http.StatusConflict && !errors.Is(err, system.ErrRefused) {
		if outcome := w.opts.System.Fate(ctx, investigation, w.Press.Name); outcome != "" {
			return w.tell(ctx, w.input, "This is no longer pending: "+reveal.Text(outcome))
		}
	}
	return w.failed(ctx, investigation, operation, err)
}

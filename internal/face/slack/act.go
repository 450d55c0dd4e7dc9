package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// wordInvestigate begins a request to start an investigation, even in the thread of another one.
const wordInvestigate = "investigate"

// cutWord divides a text after its first word if that is the given one, in any case.
func cutWord(text, word string) (first, rest string, found bool) {
	first, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return first, strings.TrimSpace(rest), strings.EqualFold(first, word)
}

// act carries out an input. An error means that it must be tried again: the operations know from the input's ID that they have been
// carried out.
func (o *owner) act(ctx context.Context, id string, in input, late bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	p, err := o.who(ctx, in.User)
	if err != nil && !late {
		return err
	}
	w := work{owner: o, id: id, input: in, person: p}
	if late {
		return w.tell(ctx, in, "Inquest could not finish this in time. Check the thread before you try again.")
	}
	ctx = system.WithKey(o.as(ctx, p), id)
	switch in.Kind {
	case inputStart:
		return w.start(ctx)
	case inputMessage:
		return w.message(ctx)
	}
	if in.Press == nil {
		return nil // an input of a newer program
	}
	return w.press(ctx)
}

// work is an input that is being carried out for a person.
type work struct {
	*owner
	id string
	input
	person
}

// message carries out the request in a message.
func (w work) message(ctx context.Context) error {
	if _, rest, found := cutWord(w.Text, wordInvestigate); found && w.Mention {
		w.Text = rest
		return w.start(ctx)
	}
	all, err := w.opts.Store.ChatThreadAt(ctx, w.Channel, w.Thread)
	if err != nil {
		return err
	}
	running := len(all) > 0 && all[0].State == record.ChatOpen
	switch {
	case running:
		return w.steer(ctx, all[0].Investigation)
	case w.Mention:
		return w.start(ctx)
	}
	return nil // people talk about a finished investigation
}

// start starts an investigation. Its context is the thread above the message.
func (w work) start(ctx context.Context) error {
	channel, ok := w.opts.Settings.Channels[w.Channel]
	if !ok {
		return w.tell(ctx, w.input, "Inquest does not serve this channel. To change that, add it to system.slack.channels in the configuration.")
	}
	above, err := w.above(ctx)
	if err != nil {
		return err
	}
	if strings.TrimSpace(w.Text+above) == "" {
		return w.tell(ctx, w.input, "Tell me what to investigate.")
	}
	text := w.Text
	if above != "" {
		text = strings.TrimSpace(text+"\n\nThe thread in Slack, oldest message first:\n") + "\n" + above
	}
	data, err := json.Marshal(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	started, err := do(ctx, w.Face, system.StartInvestigation, system.StartIn{Key: w.id, Body: system.StartBody{
		Project: channel.Project, Chain: channel.Chain, AlertType: channel.AlertType, Data: data,
		Metadata: map[string]string{"slack_channel": w.Channel, "slack_thread": w.Thread},
	}})
	if err != nil {
		return w.failed(ctx, "", system.StartInvestigation.Name, err)
	}
	if w.Thread == "" {
		asks := fmt.Sprintf("<@%s> asks: %s", w.User, escape(clip.Line(w.Text, maxSection/2)))
		root, err := w.post(ctx, record.ChatMessage{
			Investigation: started.ID, Kind: kindRoot, Channel: w.Channel, State: record.ChatDone,
		}, content{text: asks, blocks: []slack.Block{section(asks)}})
		if err != nil {
			return err
		}
		w.Thread = root.TS
	}
	_, _, err = w.opts.Store.AddChatMessage(ctx, record.ChatMessage{
		Investigation: started.ID, Kind: record.ChatThread, Channel: w.Channel, Thread: w.Thread, State: record.ChatOpen,
	})
	return err
}

// maxAbove limits the text of a thread, in bytes.
const maxAbove = 64 << 10

// above returns the messages of the thread up to the input's own, without ours.
func (w work) above(ctx context.Context) (string, error) {
	if w.Thread == "" {
		return "", nil
	}
	var out strings.Builder
	for cursor := ""; ; {
		page, next, err := w.replies(ctx, w.Channel, w.Thread, cursor)
		if refusal := (slack.SlackErrorResponse{}); errors.As(err, &refusal) {
			return "", w.tell(ctx, w.input, "I cannot read this thread ("+refusal.Err+"), so I only use your message. "+
				"Invite me to the channel if you need the thread.")
		} else if err != nil {
			return "", err
		}
		for _, m := range page {
			own := m.User == w.me.UserID || m.Timestamp == w.TS && w.Kind == inputMessage
			if text := textOf(m); !own && m.Timestamp <= w.TS && text != "" && out.Len() < maxAbove {
				fmt.Fprintf(&out, "[%s] %s\n", nameOf(m), text)
			}
		}
		if cursor = next; cursor == "" {
			return out.String(), nil
		}
	}
}

func nameOf(m slack.Message) string {
	for _, name := range []string{m.Username, m.User, m.BotID} {
		if name != "" {
			return name
		}
	}
	return "unknown"
}

// textOf returns the text of a message and its attachments, in which alerts usually have theirs.
func textOf(m slack.Message) string {
	texts := []string{m.Text}
	for _, a := range m.Attachments {
		texts = append(texts, a.Title, a.TitleLink, a.Text)
		for _, field := range a.Fields {
			texts = append(texts, field.Title+": "+field.Value)
		}
		if a.Text+a.Title == "" {
			texts = append(texts, a.Fallback)
		}
	}
	var out []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return unescaper.Replace(strings.Join(out, "\n"))
}

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// failed tells the person why an operation failed, and records in the audit trail that they were refused. It returns an error if the
// operation must be tried again.
func (w work) failed(ctx context.Context, investigation, operation string, err error) error {
	if errors.Is(err, system.ErrPending) {
		return nil // it counts, and must not be repeated
	}
	text, status := w.opts.Explain(ctx, operation, err)
	switch {
	case status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout || ctx.Err() != nil:
		return err
	case status == http.StatusForbidden || status == http.StatusNotFound || errors.Is(err, system.ErrRefused):
		if err := w.opts.Refused(ctx, investigation, w.name, operation, text); err != nil {
			return err
		}
	}
	if !w.known {
		text = "I do not know you: ask an administrator to add you to system.slack.users in the configuration."
	}
	return w.tell(ctx, w.input, "Nothing was done: "+text)
}

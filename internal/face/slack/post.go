package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/record"
)

// metadataType marks our messages. Their metadata holds the key that find looks for.
const metadataType = "inquest_message"

func keyOf(m record.ChatMessage) string { return m.Investigation + " " + m.Kind }

// claim returns the row of a message, which it adds if there is none. recorded means that the message has been posted and its TS recorded.
// If the row exists already without a TS, an earlier attempt may have reached Slack, so claim looks for the message there.
func (o *owner) claim(ctx context.Context, m record.ChatMessage) (row record.ChatMessage, recorded bool, err error) {
	row, added, err := o.opts.Store.AddChatMessage(ctx, m)
	if err != nil || row.TS != "" || added {
		return row, row.TS != "", err
	}
	row.TS, err = o.find(ctx, row)
	return row, false, err
}

// post posts a message once for its investigation and kind, and returns the row with its TS.
func (o *owner) post(ctx context.Context, m record.ChatMessage, c content) (record.ChatMessage, error) {
	m.State = cmp.Or(m.State, record.ChatOpen)
	row, recorded, err := o.claim(ctx, m)
	if err != nil || recorded {
		return row, err
	}
	if row.TS == "" {
		options := append(c.options(), slack.MsgOptionMetadata(slack.SlackMetadata{
			EventType: metadataType, EventPayload: map[string]any{"key": keyOf(row)},
		}))
		if row.Thread != "" {
			options = append(options, slack.MsgOptionTS(row.Thread))
		}
		if _, row.TS, err = o.api.PostMessageContext(ctx, row.Channel, options...); err != nil {
			return row, fmt.Errorf("post the %s of %s: %w", row.Kind, row.Investigation, err)
		}
	}
	return row, o.posted(ctx, row)
}

// posted records the TS of a message. If another process has posted the message meanwhile, ours is deleted.
func (o *owner) posted(ctx context.Context, row record.ChatMessage) error {
	set, err := o.opts.Store.SetChatMessage(ctx, row)
	if err == nil && !set {
		_, _, err = o.api.DeleteMessageContext(ctx, row.Channel, row.TS)
	}
	return err
}

// find returns the TS of a message that an earlier attempt has posted. An empty string means that there is none.
func (o *owner) find(ctx context.Context, m record.ChatMessage) (string, error) {
	is := func(msg slack.Message) bool {
		if m.Kind == kindFile {
			return slices.ContainsFunc(msg.Files, func(f slack.File) bool { return f.Name == fileName(m.Investigation) })
		}
		return msg.Metadata.EventType == metadataType && msg.Metadata.EventPayload["key"] == keyOf(m)
	}
	for cursor := ""; ; {
		var page []slack.Message
		var err error
		if m.Thread != "" {
			page, cursor, err = o.replies(ctx, m.Channel, m.Thread, cursor)
		} else {
			var answer *slack.GetConversationHistoryResponse
			answer, err = o.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
				ChannelID: m.Channel, Cursor: cursor, Limit: pageSize, IncludeAllMetadata: true, Oldest: fmt.Sprintf("%d.000000", m.At.Unix()-60),
			})
			if err == nil {
				page, cursor = answer.Messages, answer.ResponseMetaData.NextCursor
			}
		}
		if err != nil {
			return "", fmt.Errorf("find the %s of %s: %w", m.Kind, m.Investigation, err)
		}
		if n := slices.IndexFunc(page, is); n >= 0 {
			return page[n].Timestamp, nil
		}
		if cursor == "" {
			return "", nil
		}
	}
}

// pageSize is the number of messages to read at once.
const pageSize = 200

// replies returns a page of a thread, and the cursor of the next one.
func (f *Face) replies(ctx context.Context, channel, thread, cursor string) (page []slack.Message, next string, err error) {
	page, _, next, err = f.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: channel, Timestamp: thread, Cursor: cursor, Limit: pageSize, IncludeAllMetadata: true,
	})
	return page, next, err
}

// edit replaces the content of a message.
func (o *owner) edit(ctx context.Context, m record.ChatMessage, c content) error {
	_, _, _, err := o.api.UpdateMessageContext(ctx, m.Channel, m.TS, c.options()...)
	if err != nil {
		return fmt.Errorf("edit the %s of %s: %w", m.Kind, m.Investigation, err)
	}
	return nil
}

// upload posts a file once.
func (o *owner) upload(ctx context.Context, m record.ChatMessage, text string) error {
	m.State = record.ChatDone
	row, recorded, err := o.claim(ctx, m)
	if err != nil || recorded {
		return err
	}
	if row.TS == "" {
		file, err := o.api.UploadFileContext(ctx, slack.UploadFileParameters{
			Content: text, FileSize: len(text), Filename: fileName(m.Investigation), Title: "Report of " + m.Investigation,
			Channel: row.Channel, ThreadTimestamp: row.Thread,
		})
		if err != nil {
			return fmt.Errorf("upload the report of %s: %w", m.Investigation, err)
		}
		row.TS = file.ID // the message of a file is not known yet
	}
	_, err = o.opts.Store.SetChatMessage(ctx, row)
	return err
}

func fileName(investigation string) string {
	return "report-" + strings.Map(func(r rune) rune {
		if r == ':' || r == '/' {
			return '-'
		}
		return r
	}, investigation) + ".md"
}

// tell shows a text to one person in private.
func (f *Face) tell(ctx context.Context, in input, text string) error {
	options := []slack.MsgOption{slack.MsgOptionText(escape(text), false)}
	if in.Thread != "" {
		options = append(options, slack.MsgOptionTS(in.Thread))
	}
	_, err := f.api.PostEphemeralContext(ctx, in.Channel, in.User, options...)
	if refusal := (slack.SlackErrorResponse{}); errors.As(err, &refusal) {
		f.opts.Logger.WarnContext(ctx, "Slack refused a private message", "user", in.User, "error", err)
		return nil // the person has left the channel, for example
	}
	return err
}

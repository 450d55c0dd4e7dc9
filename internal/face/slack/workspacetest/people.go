package workspacetest

import (
	"fmt"
	"time"

	"github.com/slack-go/slack"
)

// What people do in the workspace.

// Write adds a message of a user without telling the app, and returns its TS.
func (w *Workspace) Write(channel, thread, user, text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := Message{Channel: channel}
	m.User, m.Text, m.ThreadTimestamp, m.Timestamp = user, text, thread, w.next()
	w.messages = append(w.messages, m)
	return m.Timestamp
}

// Say writes a message and sends it to the app as an event. It returns the message's TS.
func (w *Workspace) Say(channel, thread, user, text string) string {
	ts := w.Write(channel, thread, user, text)
	w.Send("events_api", MessageEvent(channel, thread, user, text, ts))
	return ts
}

// Announce posts a message of another app, as https://docs.slack.dev/reference/events/message/bot_message shows it, and returns its TS.
func (w *Workspace) Announce(channel, app string, content slack.Msg) string {
	w.mu.Lock()
	m := Message{Channel: channel}
	m.Msg = content
	m.BotID, m.SubType, m.Timestamp = app, slack.MsgSubTypeBotMessage, w.next()
	w.messages = append(w.messages, m)
	w.mu.Unlock()
	event := MessageEvent(channel, "", "", m.Text, m.Timestamp)
	inner, _ := event["event"].(map[string]any)
	delete(inner, "user")
	inner["bot_id"], inner["subtype"], inner["attachments"] = m.BotID, m.SubType, m.Attachments
	w.Send("events_api", event)
	return m.Timestamp
}

// MessageEvent returns an event as https://docs.slack.dev/reference/events/message.channels shows it.
func MessageEvent(channel, thread, user, text, ts string) map[string]any {
	event := map[string]any{
		"type": "message", "channel": channel, "user": user, "text": text, "ts": ts, "event_ts": ts, "channel_type": "channel",
	}
	if thread != "" {
		event["thread_ts"] = thread
	}
	return map[string]any{
		"token": "one-long-verification-token", "team_id": "T1", "api_app_id": "A1", "event": event, "type": "event_callback",
		"event_id": "Ev" + ts, "event_time": 1234567890,
	}
}

// Buttons returns the buttons of a message by their action ID.
func Buttons(m Message) map[string]*slack.ButtonBlockElement {
	all := map[string]*slack.ButtonBlockElement{}
	for _, b := range m.Blocks.BlockSet {
		if actions, ok := b.(*slack.ActionBlock); ok {
			for _, e := range actions.Elements.ElementSet {
				if button, ok := e.(*slack.ButtonBlockElement); ok {
					all[button.ActionID] = button
				}
			}
		}
	}
	return all
}

// Press presses a button as https://docs.slack.dev/reference/interaction-payloads/block_actions-payload shows it.
func (w *Workspace) Press(user string, m Message, action string) {
	w.t.Helper()
	button := Buttons(m)[action]
	if button == nil {
		w.t.Fatalf("the message has no button %s: %s", action, w.Dump())
	}
	w.Send("interactive", map[string]any{
		"type": "block_actions", "user": map[string]string{"id": user}, "api_app_id": "A1", "token": "t",
		"trigger_id": "12321423423.333649436676.d8", "response_url": "https://hooks.slack.com/actions/A/1/2",
		"team": map[string]string{"id": "T1"}, "channel": map[string]string{"id": m.Channel},
		"message": map[string]any{"type": "message", "ts": m.Timestamp, "thread_ts": m.ThreadTimestamp, "text": m.Text},
		"actions": []map[string]any{{
			"type": "button", "action_id": button.ActionID, "block_id": "b", "value": button.Value, "action_ts": fmt.Sprint(time.Now().UnixNano()),
			"text": map[string]any{"type": "plain_text", "text": button.Text.Text},
		}},
	})
}

// Submit submits a modal with texts for its first inputs, and returns the app's answer.
func (w *Workspace) Submit(user, view string, modal slack.ModalViewRequest, texts ...string) string {
	w.t.Helper()
	values := map[string]any{}
	for n, block := range modal.Blocks.BlockSet {
		id, text := block.(*slack.InputBlock).BlockID, ""
		if n < len(texts) {
			text = texts[n]
		}
		values[id] = map[string]any{id: map[string]any{"type": "plain_text_input", "value": text}}
	}
	return string(w.Send("interactive", map[string]any{
		"type": "view_submission", "user": map[string]string{"id": user}, "team": map[string]string{"id": "T1"}, "trigger_id": "1.2",
		"view": map[string]any{
			"id": view, "type": "modal", "callback_id": modal.CallbackID, "private_metadata": modal.PrivateMetadata, "hash": "156772938.1827394",
			"state": map[string]any{"values": values},
		},
	}))
}

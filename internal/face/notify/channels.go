package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/record"
)

// send sends an event to a channel once. A refusedError says whether another attempt can help.
func (o *owner) send(ctx context.Context, name string, e Event) error {
	c, ok := o.Settings.Channels[name]
	if !ok {
		return &refusedError{err: errors.New("system.notifications of this worker has no channel of that name"), temporary: true}
	}
	m := messageOf(e, o.Calendar.In(time.Now()))
	switch c.Type {
	case config.NotifyMattermost:
		return o.post(ctx, c.URL, nil, encode(map[string]any{"text": mattermost(m)}))
	case config.NotifyTeams:
		return o.post(ctx, c.URL, nil, encode(teams(m)))
	case config.NotifyEmail:
		return mailTo(ctx, c, e, m)
	case config.NotifySlack:
		return o.thread(ctx, c, e)
	}
	return o.webhook(ctx, c, e)
}

// webhook sends the event itself, signed as in https://www.standardwebhooks.com.
func (o *owner) webhook(ctx context.Context, c config.NotificationChannel, e Event) error {
	body := encode(e)
	key, err := standardwebhooks.NewWebhook(c.Secret)
	if err != nil {
		return err
	}
	now := time.Now()
	signature, err := key.Sign(e.ID, now, body)
	if err != nil {
		return err
	}
	return o.post(ctx, c.URL, map[string]string{
		standardwebhooks.HeaderWebhookID: e.ID, standardwebhooks.HeaderWebhookSignature: signature,
		standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10),
	}, body)
}

// thread has the face for Slack keep a thread in the channel up to date. An investigation that has a thread keeps it.
func (o *owner) thread(ctx context.Context, c config.NotificationChannel, e Event) error {
	_, _, err := o.Store.AddChatMessage(ctx, record.ChatMessage{
		Investigation: e.Investigation.ID, Kind: record.ChatThread, Channel: c.Channel, State: record.ChatOpen,
	})
	return err
}

// encode returns a value as JSON in which <, > and & take one byte.
func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // strings and numbers can always be encoded
	return bytes.TrimSpace(out.Bytes())
}

// post sends JSON. Errors contain neither the address, which may be a secret, nor the answer, which may quote it.
func (o *owner) post(ctx context.Context, to string, headers map[string]string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return &refusedError{err: errors.New("the URL is invalid")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "inquest")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := o.Client.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if err != nil {
		return fmt.Errorf("send to %s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("%s answered %d %s", req.URL.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	temporary := resp.StatusCode >= 500
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusNotFound, http.StatusUnauthorized,
		http.StatusForbidden: // a receiver that is being set up or moved also answers with the last three
		temporary = true
	}
	return &refusedError{err: err, temporary: temporary, retryAfter: retryAfter(resp.Header.Get("Retry-After"))}
}

// retryAfter reads the header Retry-After: seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), time.Hour)
	}
	return 0
}

// mention matches the beginning of what Mattermost may take for a mention of people, wherever it is.
var mention = regexp.MustCompile(`@(\w)`)

// mattermost returns a message in Markdown. Texts of others cannot mention people, hide the address of a link, or load an image.
func mattermost(m message) string {
	plain := func(text string) string { return mention.ReplaceAllString(markdown.Unlinked(text), "@\u200b$1") }
	text := "**" + plain(strings.ReplaceAll(m.subject, "*", "")) + "**\n"
	for _, f := range m.facts {
		text += "\n" + f[0] + ": " + plain(f[1]) + "  "
	}
	if m.text != "" {
		text += "\n\n" + limited(plain(m.text))
	}
	if m.link != "" {
		text += "\n\n[Open the investigation](" + m.link + ")"
	}
	return text
}

// teams returns a message with an Adaptive Card, as workflows of Microsoft Teams take it.
func teams(m message) any {
	type object = map[string]any
	body := []object{{"type": "TextBlock", "text": markdown.Unlinked(m.subject), "weight": "bolder", "size": "large", "wrap": true}}
	facts := []object{}
	for _, f := range m.facts {
		facts = append(facts, object{"title": f[0], "value": markdown.Unlinked(f[1])})
	}
	if len(facts) > 0 {
		body = append(body, object{"type": "FactSet", "facts": facts})
	}
	for _, p := range paragraphs(limited(m.text)) {
		block := object{"type": "TextBlock", "text": p.text, "wrap": true}
		if p.code { // a RichTextBlock has no Markdown
			run := object{"type": "TextRun", "text": p.text, "fontType": "monospace"}
			block = object{"type": "RichTextBlock", "inlines": []object{run}}
		}
		body = append(body, block)
	}
	card := object{
		"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4", "body": body,
		"msteams": object{"width": "Full"},
	}
	if m.link != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Open the investigation", "url": m.link}}
	}
	attachment := object{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
	return object{"type": "message", "attachments": []object{attachment}}
}

// heading matches a heading of Markdown, which cards do not have.
var heading = regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.*?)\s*#*$`)

type paragraph struct {
	text string
	code bool
}

// paragraphs divides Markdown into texts and blocks of code.
func paragraphs(text string) (all []paragraph) {
	add := func(lines []string, code bool) {
		if t := strings.Trim(strings.Join(lines, "\n"), "\n"); t != "" {
			if !code {
				t = heading.ReplaceAllString(markdown.Unlinked(t), "**$1**")
			}
			all = append(all, paragraph{t, code})
		}
	}
	var lines []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		mark := strings.TrimLeft(line, " ")
		ticks := mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			add(lines, false)
			lines, fence = nil, ticks
		case fence != "" && len(ticks) >= len(fence) && strings.TrimSpace(mark) == ticks:
			add(lines, true)
			lines, fence = nil, ""
		default:
			lines = append(lines, line)
		}
	}
	add(lines, fence != "")
	return all
}

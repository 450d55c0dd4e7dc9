package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"github.com/inquest-dev/inquest/internal/kit/lease"
	"github.com/inquest-dev/inquest/internal/record"
)

// Path is where the HTTP API takes Slack's requests: events, interactions and commands.
const Path = "/slack"

const (
	// answerTime is how long Slack waits for an answer.
	answerTime = 2500 * time.Millisecond
	maxRequest = 1 << 20
)

// input is an action of a person. It is stored until it is carried out, so it holds neither tokens nor addresses that let others act.
type input struct {
	Kind    string `json:"kind"`
	User    string `json:"user"`
	Channel string `json:"channel"`
	// Thread is the message that the thread is below; TS is the message that the person wrote or chose. Without a thread, one is begun.
	Thread  string `json:"thread,omitempty"`
	TS      string `json:"ts,omitempty"`
	Text    string `json:"text,omitempty"`
	Action  string `json:"action,omitempty"` // what was done about the incident
	Claims  string `json:"claims,omitempty"` // ratings of single claims, as system.ParseClaims reads them
	Mention bool   `json:"mention,omitempty"`
	Press   *press `json:"press,omitempty"`
}

// The kinds of inputs besides the verbs of buttons.
const (
	inputMessage = "message"
	inputStart   = "start"
	inputAlert   = "alert" // another app wrote the message TS
)

// listen receives over WebSockets that this process opens. The library connects again when a connection ends.
func (f *Face) listen(ctx context.Context) {
	for {
		log := slog.NewLogLogger(f.opts.Logger.Handler(), slog.LevelDebug)
		client := socketmode.New(f.api, socketmode.OptionLog(log), socketmode.OptionReadLimit(maxRequest))
		running, cancel := context.WithCancel(ctx)
		go func() {
			for {
				select {
				case <-running.Done():
					return
				case e := <-client.Events:
					go f.receive(ctx, client, e)
				}
			}
		}()
		err := client.RunContext(running)
		cancel()
		if ctx.Err() == nil {
			f.opts.Logger.WarnContext(ctx, "the connection to Slack ended", "error", err)
		}
		if !lease.Sleep(ctx, 10*time.Second) {
			return
		}
	}
}

// receive takes one delivery. Without an acknowledgement, Slack delivers an event again, and shows an error to whoever clicked.
func (f *Face) receive(ctx context.Context, client *socketmode.Client, e socketmode.Event) {
	if e.Type == socketmode.EventTypeConnectionError {
		f.opts.Logger.WarnContext(ctx, "cannot connect to Slack", "error", e.Data)
	}
	if e.Request == nil {
		return
	}
	taking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var answer any
	var err error
	switch data := e.Data.(type) {
	case slackevents.EventsAPIEvent:
		err = f.event(taking, data)
	case slack.InteractionCallback:
		answer, err = f.interaction(taking, data)
	case slack.SlashCommand:
		answer, err = f.command(taking, data)
	default: // hello, and what we did not subscribe to
	}
	if err == nil && e.Request.EnvelopeID != "" {
		err = client.AckCtx(ctx, e.Request.EnvelopeID, answer)
	}
	if err != nil {
		f.opts.Logger.WarnContext(ctx, "a delivery from Slack was not accepted", "type", e.Type, "error", err)
	}
}

// ServeHTTP receives signed requests.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-f.up:
	default:
		http.Error(w, "not connected to Slack yet", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request is incomplete or too large", http.StatusBadRequest)
		return
	}
	verifier, err := slack.NewSecretsVerifier(r.Header, f.opts.Secrets.Signing)
	if err == nil {
		_, _ = verifier.Write(body) // a hash does not fail
		err = verifier.Ensure()
	}
	if err != nil {
		f.opts.Logger.WarnContext(ctx, "a request to /slack was refused", "error", err)
		http.Error(w, "the signature is missing, wrong or too old", http.StatusUnauthorized)
		return
	}
	answer, err := f.request(ctx, r.Header.Get("Content-Type"), body)
	switch {
	case errors.Is(err, errMalformed):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		f.opts.Logger.WarnContext(ctx, "a request from Slack was not accepted", "error", err)
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	case answer != nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // an error means that Slack has left
	}
}

var errMalformed = errors.New("the request is malformed")

// request takes a verified request: an event in JSON, or a form with an interaction or a command.
func (f *Face) request(ctx context.Context, kind string, body []byte) (answer any, err error) {
	if strings.HasPrefix(kind, "application/json") {
		e, err := slackevents.ParseEvent(body, slackevents.OptionNoVerifyToken())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		if e.Type == slackevents.URLVerification {
			challenge := slackevents.ChallengeResponse{}
			if err := json.Unmarshal(body, &challenge); err != nil {
				return nil, errMalformed
			}
			return challenge, nil
		}
		return nil, f.event(ctx, e)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errMalformed
	}
	if payload := form.Get("payload"); payload != "" {
		var callback slack.InteractionCallback
		if err := json.Unmarshal([]byte(payload), &callback); err != nil {
			return nil, errMalformed
		}
		return f.interaction(ctx, callback)
	}
	if form.Get("command") == "" {
		return nil, errMalformed
	}
	return f.command(ctx, slack.SlashCommand{
		ChannelID: form.Get("channel_id"), UserID: form.Get("user_id"), Text: form.Get("text"), TriggerID: form.Get("trigger_id"),
	})
}

// event takes a message. A mention arrives twice, as a message and as a mention, with the same ID.
func (f *Face) event(ctx context.Context, e slackevents.EventsAPIEvent) error {
	in := input{Kind: inputMessage}
	switch m := e.InnerEvent.Data.(type) {
	case *slackevents.AppMentionEvent:
		if m.BotID != "" || m.Edited != nil {
			return nil
		}
		in.User, in.Channel, in.Thread, in.TS, in.Text, in.Mention = m.User, m.Channel, m.ThreadTimeStamp, m.TimeStamp, m.Text, true
	case *slackevents.MessageEvent:
		if m.BotID != "" {
			return f.announcement(ctx, m)
		}
		if !slices.Contains([]string{"", "thread_broadcast", "file_share"}, m.SubType) {
			return nil
		}
		in.User, in.Channel, in.Thread, in.TS, in.Text = m.User, m.Channel, m.ThreadTimeStamp, m.TimeStamp, m.Text
		in.Mention = strings.Contains(m.Text, f.mention()) || m.ChannelType == "im"
	default:
		return nil
	}
	if in.User == "" || in.User == f.me.UserID || in.Thread == "" && !in.Mention {
		return nil
	}
	if in.Thread == "" {
		in.Thread = in.TS
	}
	in.Text = strings.TrimSpace(strings.ReplaceAll(in.Text, f.mention(), ""))
	if !in.Mention {
		all, err := f.opts.Store.ChatThreadAt(ctx, in.Channel, in.Thread)
		if err != nil || len(all) == 0 {
			return err // a thread of others
		}
	}
	return f.take(ctx, "message "+in.Channel+" "+in.TS, in)
}

// announcement takes a message of another app, which may announce alerts.
func (f *Face) announcement(ctx context.Context, m *slackevents.MessageEvent) error {
	_, ours := f.opts.Settings.Channels[m.Channel]
	if !ours || m.BotID == f.me.BotID || m.ThreadTimeStamp != "" || !slices.Contains([]string{"", "bot_message", "file_share"}, m.SubType) {
		return nil
	}
	in := input{Kind: inputAlert, Channel: m.Channel, Thread: m.TimeStamp, TS: m.TimeStamp}
	return f.take(ctx, "message "+in.Channel+" "+in.TS, in)
}

func (f *Face) mention() string { return "<@" + f.me.UserID + ">" }

// callbackInvestigate is the callback ID of the message shortcut.
const callbackInvestigate = "investigate"

// interaction takes a shortcut, a button or a modal. answer is what Slack gets.
func (f *Face) interaction(ctx context.Context, c slack.InteractionCallback) (answer any, err error) {
	switch {
	case c.Type == slack.InteractionTypeBlockActions && len(c.ActionCallback.BlockActions) > 0:
		return nil, f.pressed(ctx, c, c.ActionCallback.BlockActions[0])
	case c.Type == slack.InteractionTypeViewSubmission:
		return f.submitted(ctx, c)
	case c.Type != slack.InteractionTypeMessageAction || c.CallbackID != callbackInvestigate:
		return nil, nil
	}
	in := input{Kind: inputStart, User: c.User.ID, Channel: c.Channel.ID, Thread: c.Message.ThreadTimestamp, TS: c.Message.Timestamp}
	if in.Thread == "" {
		in.Thread = in.TS
	}
	return nil, f.take(ctx, "shortcut "+in.Channel+" "+in.TS+" "+c.ActionTs, in)
}

// command takes a slash command: what to investigate.
func (f *Face) command(ctx context.Context, c slack.SlashCommand) (answer any, err error) {
	text := strings.TrimSpace(c.Text)
	if _, rest, found := cutWord(text, wordInvestigate); found {
		text = rest
	}
	if text == "" {
		return map[string]string{"response_type": "ephemeral", "text": "Tell me what to investigate, for example: " + usageExample}, nil
	}
	in := input{Kind: inputStart, User: c.UserID, Channel: c.ChannelID, Text: text}
	return nil, f.take(ctx, "command "+c.TriggerID, in)
}

// usageExample is a request in a slash command.
const usageExample = "`/inquest checkout has been slow since 14:00`"

// take stores an input, masked. Once it has returned nil, the input is carried out even if this process ends.
func (f *Face) take(ctx context.Context, id string, in input) error {
	var err error
	for _, text := range []*string{&in.Text, &in.Action} {
		if *text, err = f.opts.Mask(ctx, *text); err != nil {
			return err
		}
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	lane := in.Channel + " " + in.Thread
	if in.Thread == "" || in.Kind == inputAlert { // replies do not wait for an alert's investigation
		lane = id
	}
	return f.opts.Store.AddChatInput(ctx, record.ChatInput{ID: id, Lane: lane, Body: string(body)})
}

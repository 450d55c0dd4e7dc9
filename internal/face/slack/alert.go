package slack

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/kit/walk"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	// alertsSince is how old an alert is at most whose message is recognised.
	alertsSince = 24 * time.Hour
	// maxWords is how many words of a message may be fingerprints.
	maxWords = 500
)

// errNotYet means that no investigation of a message's alerts has started yet. The webhook may be slower than the message.
var errNotYet = errors.New("no investigation yet")

// announced returns a function that lets the investigations of the alerts that another app's message names, by their fingerprints, report
// in its thread. The message is read once.
func (o *owner) announced(ctx context.Context, in input, at time.Time) func() error {
	var words []string
	read := false
	return func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		if !read {
			if words, err = o.fingerprints(ctx, in); err != nil {
				return err
			}
			read = true
		}
		if len(words) == 0 || time.Since(at) > giveUp { // no webhook brought its alerts
			return nil
		}
		project := o.opts.Settings.Channels[in.Channel].Project
		ids, waiting, err := o.opts.Store.AlertInvestigations(ctx, project, words, at.Add(-alertsSince))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, _, err := o.opts.Store.AddChatMessage(ctx, record.ChatMessage{
				Investigation: id, Kind: record.ChatThread, Channel: in.Channel, Thread: in.Thread, State: record.ChatOpen,
			}); err != nil {
				return err
			}
		}
		if waiting || len(ids) == 0 {
			return errNotYet
		}
		return nil
	}
}

// fingerprints returns the words of a message that may be fingerprints.
func (o *owner) fingerprints(ctx context.Context, in input) ([]string, error) {
	page, _, err := o.replies(ctx, in.Channel, in.TS, "")
	if refusal := (slack.SlackErrorResponse{}); errors.As(err, &refusal) {
		o.opts.Logger.WarnContext(ctx, "cannot read a message from another app", "channel", in.Channel, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, m := range page {
		if m.Timestamp == in.TS {
			return fingerprintsIn(m), nil
		}
	}
	return nil, nil // deleted meanwhile
}

// fingerprint matches what may be one: Alertmanager's and Grafana's have 16 hexadecimal digits, PagerDuty's 7 or 14 letters and digits.
var fingerprint = regexp.MustCompile(`[\w-]*\d[\w-]*`)

// fingerprintsIn returns the words of a message that may be fingerprints: in its text, its attachments and its blocks.
func fingerprintsIn(m slack.Message) (words []string) {
	text, err := json.Marshal([]any{m.Text, m.Attachments, m.Blocks})
	var content any
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return nil // its parts came from JSON
	}
	found := map[string]bool{}
	walk.Texts(content, func(text string) {
		for _, word := range fingerprint.FindAllString(text, -1) {
			if word = strings.Trim(word, "_-"); len(word) >= 6 && len(word) <= 200 && len(found) < maxWords && !found[word] {
				found[word], words = true, append(words, word)
			}
		}
	})
	return words
}

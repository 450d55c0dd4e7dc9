// Package webhook is what alerts are that other systems send: how their JSON is read and their signatures are checked, which
// of them get an investigation of their own when many come at once, and in which words running investigations hear of the rest.
package webhook

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/clip"
)

// Limits bound what a webhook starts.
type Limits struct {
	Running   int // investigations at once
	PerMinute int // investigations that start within a minute
}

// DefaultLimits are those of a webhook that has no others.
var DefaultLimits = Limits{Running: 10, PerMinute: 20}

// Received is an alert on its way into the store.
type Received struct {
	Webhook, Project string
	Fingerprint      string // all that is told of one alert has the same
	Group, GroupName string
	Title            string
	State            State
	StartsAt         time.Time // zero = the sender does not say
	Workflow         string    // how the id of an investigation begins that is its own
	// Request starts that investigation: JSON of agent.Request, masked, with its data.
	Request json.RawMessage
}

// Counts say what became of the alerts of a delivery.
type Counts struct {
	New      int `json:"new" doc:"alerts that were not known: each gets an investigation, or joins one"`
	Known    int `json:"known" doc:"alerts that were known already"`
	Resolved int `json:"resolved" doc:"alerts that have resolved"`
	Ignored  int `json:"ignored" doc:"what neither fires nor resolves an alert that is known"`
}

// The places that a row of the store can have.
const (
	Waiting = "waiting" // for room
	Started = "started" // an investigation of its own
	Joined  = "joined"  // another one's investigation
	SetBy   = "aside"   // it resolved before there was room
)

// ErrRefused: the investigation of an alert can never be started.
var ErrRefused = errors.New("it cannot be started")

// Row is an alert that the store has.
type Row struct {
	ID            string     `json:"id"`
	N             int64      `json:"n" doc:"counts what was received"`
	Webhook       string     `json:"webhook"`
	Project       string     `json:"project"`
	Fingerprint   string     `json:"fingerprint"`
	Group         string     `json:"group"`
	Title         string     `json:"title,omitempty"`
	Place         string     `json:"place" enum:"waiting,started,joined,aside" doc:"aside: it resolved before there was room"`
	Lead          string     `json:"lead,omitempty" doc:"the alert whose investigation it has joined"`
	Investigation string     `json:"investigation,omitempty"`
	Times         int        `json:"times" doc:"how often it was received"`
	StartsAt      *time.Time `json:"starts_at,omitempty" doc:"as the sender says"`
	ReceivedAt    time.Time  `json:"received_at"`
	ResolvedAt    *time.Time `json:"resolved_at,omitempty"`
}

// Start is an investigation that has its place, and is to be started.
type Start struct {
	ID, Webhook, Workflow string
	Request               json.RawMessage
}

// Placed is what came of placing what waits.
type Placed struct {
	Starts []Start
	// Silent are investigations that were started a while ago and have no record: their ids, by those of their alerts.
	Silent map[string]string
	News   []News // what is to be told now
	// Next is when to look again, without anybody saying so; 0 = nothing waits.
	Next time.Duration
}

// The bits of what an investigation has to hear of an alert.
const (
	NewsJoined   = 1
	NewsResolved = 2
)

// News are the changes to its alerts that an investigation has not heard of yet.
type News struct {
	Lead, Webhook, Investigation string
	Alerts                       []NewsOf  // the first of them
	Joined, Resolved             int       // how many there are
	ToldAt                       time.Time // when it last heard any; zero = never
}

// Key is the same for the same news until they are told. Later news in the same words have another key.
func (n News) Key() string { return Key(n.Lead, fmt.Sprint(n.ToldAt.UnixMicro()), n.Text()) }

// NewsOf is an alert in news.
type NewsOf struct {
	Title string
	What  int // bits
}

// MaxTold is how many alerts news have by name.
const MaxTold = 20

// Text is what the agents are told. The titles are the sender's words: each is a line of its own, in quotes.
func (n News) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The webhook %s has received more about what you investigate.", n.Webhook)
	for _, part := range []struct {
		count, bit int
		what       string
	}{
		{n.Joined, NewsJoined, "fire, and have no investigation of their own"},
		{n.Resolved, NewsResolved, "have resolved"},
	} {
		if part.count == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nAlerts that %s: %d", part.what, part.count)
		told := 0
		for _, a := range n.Alerts {
			if a.What&part.bit != 0 {
				told++
				fmt.Fprintf(&b, "\n- %q", clip.Text(a.Title, maxTitle))
			}
		}
		if more := part.count - told; more > 0 && told > 0 {
			fmt.Fprintf(&b, "\n- and %d more", more)
		}
	}
	return b.String()
}

const maxTitle = 200

// By is the author of what a webhook starts or says; who is the holder of the token, if one has been checked.
func By(webhook, who string) string {
	if who == "" {
		return byWebhook + webhook
	}
	return fmt.Sprintf(byWebhook+"%s (%s)", webhook, who)
}

const byWebhook = "webhook "

// Speaks reports whether an author is a webhook (By). Its words are a sender's, and are not followed as a person's
// guidance.
func Speaks(by string) bool { return strings.HasPrefix(by, byWebhook) }

// Key is a short hash of texts.
func Key(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return fmt.Sprintf("%x", sum[:8])
}

// Package webhook handles alerts from other systems. It reads their JSON, checks their signatures, decides which alerts get their own
// investigation when many arrive at once, and tells running investigations about the others.
package webhook

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// Limits limits the investigations that a webhook starts.
type Limits struct {
	Running   int // concurrent investigations
	PerMinute int // investigations started per minute
}

// DefaultLimits are the limits of a webhook that sets none.
var DefaultLimits = Limits{Running: 10, PerMinute: 20}

// Received is an alert on its way into the store.
type Received struct {
	Webhook, Project string
	Fingerprint      string // the same for all deliveries about one alert
	Group, GroupName string
	Title            string
	State            State
	StartsAt         time.Time // zero means not given
	Notes            []string  // as in Alert
	Workflow         string    // prefix of the ID of the alert's own investigation
	// Request starts that investigation: an agent.Request as JSON, masked and including its data. Nil means that the alert is already
	// stored.
	Request json.RawMessage
}

// Counts counts the outcomes of the alerts in a delivery.
type Counts struct {
	New      int `json:"new" doc:"new alerts: each starts an investigation or joins one"`
	Known    int `json:"known" doc:"alerts that were already known"`
	Resolved int `json:"resolved" doc:"alerts that have resolved"`
	Ignored  int `json:"ignored" doc:"alerts that neither fire nor resolve a known alert"`
}

// Add adds the counts of another part of the delivery.
func (c *Counts) Add(other Counts) {
	c.New += other.New
	c.Known += other.Known
	c.Resolved += other.Resolved
	c.Ignored += other.Ignored
}

// The values of Row.Place.
const (
	Waiting = "waiting" // no room yet
	Started = "started" // has its own investigation
	Joined  = "joined"  // joined another alert's investigation
	SetBy   = "aside"   // resolved before there was room
)

// ErrRefused means that the investigation of an alert can never be started.
var ErrRefused = errors.New("it cannot be started")

// Row is an alert in the store.
type Row struct {
	ID            string     `json:"id"`
	N             int64      `json:"n" doc:"sequence number in the order of receipt"`
	Webhook       string     `json:"webhook"`
	Project       string     `json:"project"`
	Fingerprint   string     `json:"fingerprint"`
	Group         string     `json:"group"`
	Title         string     `json:"title,omitempty"`
	Place         string     `json:"place" enum:"waiting,started,joined,aside" doc:"aside: resolved before an investigation could start"`
	Lead          string     `json:"lead,omitempty" doc:"the alert whose investigation this alert joined"`
	Investigation string     `json:"investigation,omitempty"`
	Times         int        `json:"times" doc:"number of times the alert was received"`
	StartsAt      *time.Time `json:"starts_at,omitempty" doc:"start time reported by the sender"`
	Notes         []string   `json:"notes,omitempty" doc:"values from the sender that could not be read and were left out"`
	ReceivedAt    time.Time  `json:"received_at"`
	ResolvedAt    *time.Time `json:"resolved_at,omitempty"`
}

// Start is an investigation that has been placed and is ready to start.
type Start struct {
	ID, Webhook, Workflow string
	Request               json.RawMessage
}

// Placed is the result of placing queued alerts.
type Placed struct {
	Starts []Start
	// Silent holds investigations that were started a while ago and have no record: investigation IDs by alert ID.
	Silent map[string]string
	News   []News // messages that are due
	// Next is when to look again without a signal; zero means that nothing is queued.
	Next time.Duration
}

// Bits for the news about an alert.
const (
	NewsJoined   = 1
	NewsResolved = 2
)

// News holds the changes to an investigation's alerts that it has not been told yet.
type News struct {
	Lead, Webhook, Investigation string
	Alerts                       []NewsOf  // the first of them
	Joined, Resolved             int       // total counts
	ToldAt                       time.Time // when it was last told any; zero means never
}

// Key identifies the news until the investigation has been told. Later news with the same content has another key.
func (n News) Key() string {
	return Key(n.Lead, fmt.Sprint(n.ToldAt.UnixMicro()), fmt.Sprint(n.Joined, n.Resolved, n.Alerts))
}

// NewsOf is the news about one alert.
type NewsOf struct {
	Title string
	What  int // bits
}

// MaxTold is how many alerts the news names.
const MaxTold = 20

// Text is the message to the agents. The titles are untrusted, so each is quoted on its own line.
func (n News) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The webhook %s has received news about alerts of this investigation.", n.Webhook)
	for _, part := range []struct {
		count, bit int
		what       string
	}{
		{n.Joined, NewsJoined, "are firing and were added to this investigation"},
		{n.Resolved, NewsResolved, "have resolved"},
	} {
		if part.count == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nAlerts that %s: %d", part.what, part.count)
		shown := 0
		for _, a := range n.Alerts {
			if a.What&part.bit != 0 {
				shown++
				fmt.Fprintf(&b, "\n- %q", clip.Text(a.Title, maxTitle))
			}
		}
		if more := part.count - shown; more > 0 && shown > 0 {
			fmt.Fprintf(&b, "\n- and %d more", more)
		}
	}
	return b.String()
}

const maxTitle = 200

// By returns the author of everything that a webhook starts or says; who is the holder of the token, if one was checked.
func By(webhook, who string) string {
	if who == "" {
		return byWebhook + webhook
	}
	return fmt.Sprintf(byWebhook+"%s (%s)", webhook, who)
}

const byWebhook = "webhook "

// Speaks reports whether an author is a webhook (By). Its text comes from a sender and does not count as a person's guidance.
func Speaks(by string) bool { return strings.HasPrefix(by, byWebhook) }

// Key returns a short hash of texts.
func Key(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return fmt.Sprintf("%x", sum[:8])
}

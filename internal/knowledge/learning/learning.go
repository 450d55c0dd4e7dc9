// Package learning defines what investigations teach later ones: the record of a learning, how its confidence changes, how
// learnings are ranked for a request, and the contract of the agent that extracts them. The package does no I/O.
package learning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of knowledge in a learning.
type Kind string

// The kinds of learnings.
const (
	Semantic   Kind = "semantic"   // a fact about the systems, or what is normal for them
	Episodic   Kind = "episodic"   // what worked, failed or surprised in one investigation
	Procedural Kind = "procedural" // how to investigate, or how not to
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Semantic, Episodic, Procedural} }

// Polarity says whether a learning describes something to repeat.
type Polarity string

// The polarities of learnings.
const (
	Positive Polarity = "positive" // repeat it
	Negative Polarity = "negative" // avoid it
	Neutral  Polarity = "neutral"
)

// Polarities returns all polarities.
func Polarities() []Polarity { return []Polarity{Positive, Negative, Neutral} }

// Learning is one piece of knowledge from an investigation. Texts are masked.
type Learning struct {
	// ID is unique within the project. A deleted learning's ID is not used again.
	ID       int64    `json:"-"`
	Project  string   `json:"-"`
	Kind     Kind     `json:"kind"`
	Polarity Polarity `json:"polarity"`
	Text     string   `json:"text"`
	// Confidence is the confidence at Changed, from 0 to 1. It decays from then on: see Current.
	Confidence float64 `json:"confidence"`
	// Basis is the confidence before the judgements of other investigations. An edit starts a new one.
	Basis     Basis  `json:"basis,omitzero"`
	Chain     string `json:"chain"`
	AlertType string `json:"alert_type,omitempty"`
	// Investigation taught it. Rows are the sequence numbers of the journal rows that show it.
	Investigation string  `json:"-"`
	Rows          []int64 `json:"rows,omitempty"`
	// Untrusted are the sources of untrusted text that the agents had read which the learning is about.
	Untrusted []string `json:"untrusted,omitempty"`
	// Confirmed and Contradicted count the later investigations that did so.
	Confirmed    int `json:"confirmed,omitempty"`
	Contradicted int `json:"contradicted,omitempty"`
	// Created is when the learning was stored. Changed is when it was created, confirmed, contradicted or edited last.
	Created time.Time `json:"created"`
	Changed time.Time `json:"-"`
	// EditedBy is the person who last edited it, or empty.
	EditedBy string `json:"edited_by,omitempty"`
	// Withdrawn is set if the learning is no longer used.
	Withdrawn *Withdrawn `json:"withdrawn,omitempty"`
}

// Withdrawn says who withdrew a learning, when, and why.
type Withdrawn struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Filter selects learnings of a project.
type Filter struct {
	Project       string
	Investigation string // that taught them; empty means any
	Search        string // words of which the text has at least one; empty means any
	Withdrawn     bool   // also those that were withdrawn
	Limit         int    // 0 means all
	Before        int64  // only those with a lower ID; 0 means any
}

// Read is the use of a learning by an investigation.
type Read struct {
	Learning      int64
	Investigation string
	How           How
	At            time.Time
}

// ReadFilter selects reads of a project's learnings.
type ReadFilter struct {
	Project       string
	Learnings     []int64 // empty means all
	Investigation string  // that read them; empty means any
	Before        Read    // only older ones than this read, the oldest of a page; the zero value means any
}

// MaxReads limits the reads that are listed or recorded at once.
const MaxReads = 1000

// How says how an investigation got a learning.
type How string

// The ways in which investigations get learnings.
const (
	Shown    How = "shown"    // in the prompts of its agents
	Recalled How = "recalled" // as the result of a tool
)

// Name returns a learning's ID as people and models see it: L17.
func Name(id int64) string { return "L" + strconv.FormatInt(id, 10) }

// Names returns the names of several learnings, separated by commas.
func Names(ids []int64) string {
	names := make([]string, len(ids))
	for n, id := range ids {
		names[n] = Name(id)
	}
	return strings.Join(names, ", ")
}

// MaxID is the largest ID of a learning.
const MaxID = 1<<32 - 1

// ParseName is the inverse of Name. It ignores case and accepts the bare number.
func ParseName(name string) (int64, error) {
	digits := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "L")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id < 1 || id > MaxID || digits != strconv.FormatInt(id, 10) {
		return 0, fmt.Errorf("%q is not the ID of a learning, such as L17", name)
	}
	return id, nil
}

// MaxText is the maximum length of a learning's text, in characters.
const MaxText = 500

// Change is a person's edit. Nil fields stay as they are.
type Change struct {
	Kind       *Kind
	Polarity   *Polarity
	Text       *string
	Confidence *float64
}

// Apply returns the learning with the change. The error says which value is wrong.
func (c Change) Apply(l Learning, by string, at time.Time) (Learning, error) {
	if c.Kind != nil {
		l.Kind = *c.Kind
	}
	if c.Polarity != nil {
		l.Polarity = *c.Polarity
	}
	if c.Text != nil {
		l.Text = strings.TrimSpace(*c.Text)
	}
	l.Confidence = Current(l, at)
	if c.Confidence != nil {
		l.Confidence = *c.Confidence
	}
	l.EditedBy, l.Changed, l.Basis = by, at, Basis{l.Confidence, at}
	switch {
	case !slices.Contains(Kinds(), l.Kind):
		return l, fmt.Errorf("kind %q is not one of %v", l.Kind, Kinds())
	case !slices.Contains(Polarities(), l.Polarity):
		return l, fmt.Errorf("polarity %q is not one of %v", l.Polarity, Polarities())
	case !(l.Confidence >= 0 && l.Confidence <= 1): // also refuses NaN
		return l, fmt.Errorf("confidence %v is not between 0 and 1", l.Confidence)
	}
	return l, textProblem(l.Text)
}

func textProblem(text string) error {
	switch n := len([]rune(text)); {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("the text of a learning must not be empty")
	case n > MaxText:
		return fmt.Errorf("the text of a learning has %d characters, and at most %d are allowed", n, MaxText)
	}
	return nil
}

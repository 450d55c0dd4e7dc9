// Package evidence collects what an investigation has found, each piece with the row of the journal and the span of
// text that it stands in, and checks by code what a report claims against the pieces that it cites. It does no I/O.
package evidence

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/toolresult"
)

// Evidence is what an investigation has found, and what its report makes of it.
type Evidence struct {
	Items       []Item      `json:"evidence"`
	Discoveries []Discovery `json:"discoveries,omitempty"`
	// Pending is what was left to look at.
	Pending []string `json:"pending,omitempty"`
	// LeftOut counts the pieces and discoveries that are more than are kept.
	LeftOut int `json:"left_out,omitempty"`
	// Claims are the report's, in order; none = no report has been checked.
	Claims []Claim `json:"claims,omitempty"`
	// Uncited counts the sentences of the report that name numbers, names or times, cite nothing, and were not found either.
	Uncited int `json:"uncited,omitempty"`

	names   map[string]bool           // plain words that are names here: "checkout"
	quoted  map[string]map[string]int // numbers of items, by reply and what that calls them: "e1"
	results []*row                    // what tools returned, in the order of the journal
	uncited []string                  // the sentences that Uncited counts
	search  *search                   // nil = nobody has looked for them yet
}

// Item is a piece of evidence. Its number is its place in the journal, and never changes.
type Item struct {
	N int `json:"n"`
	toolresult.Citation
	// By is the execution that named it: by its reply, or because its tool did. Else it is ByCode.
	By string `json:"by"`
	Source
	// Problem is why it proves nothing; "" = it stands where Source says.
	Problem string `json:"problem,omitempty"`

	text  string // what stands there: all that claims are checked against
	asked string // the arguments of the call
	read  *reading
}

// reading is what claims are compared with, read once.
type reading struct {
	facts
	names  []string // what the text is about
	called string   // the tool and what it was asked for
}

func (i *Item) reading(known map[string]bool) *reading {
	if i.read == nil {
		i.read = &reading{
			facts: stated(i.text), names: claimed(unquoted.Replace(i.text), known).names,
			called: strings.ToLower(fold(i.Tool + "\n" + i.asked).text),
		}
	}
	return i.read
}

// How much is kept: what a tool returns is as long as its server likes, and all of it is compared with each claim.
const (
	maxItems = 1000 // pieces of evidence of an investigation, and as many discoveries
	maxText  = 4096 // bytes of each text of them
)

// kept is the beginning of a text that is too long, without the word that the end would cut in two.
func kept(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = clip.Bytes(text, maxText)
	return text[:strings.LastIndexAny(text, " \t\n{}[]\"")+1]
}

// Source is where something stands: From and To are bytes of the kept text of a row of the journal.
type Source struct {
	Execution string `json:"execution,omitempty"`
	Seq       int64  `json:"seq,omitempty"` // 0 = it stands nowhere
	Tool      string `json:"tool,omitempty"`
	From      int    `json:"from"`
	To        int    `json:"to"`
}

// Discovery is a thing that a tool or an agent came across.
type Discovery struct {
	toolresult.Discovery
	By string `json:"by"`
	Source
}

// Claim is a sentence of a report, or a part of one, with what it cites.
type Claim struct {
	Text  string `json:"text"`
	Cites []int  `json:"cites"`
	// Verdict: what the verdict is by.
	Verdict Verdict `json:"verdict"`
	// Missing are the citations that are no proof, and what of the claim stands in none of them.
	Missing []string `json:"missing,omitempty"`
}

// Verdict is what code says of a claim.
type Verdict string

// The verdicts. Verified says that all numbers, names and times of a claim stand in what it cites, not that the claim
// follows from it. Of a claim that is unchecked, the citations are there, and it has nothing that code could look for.
// Found are sentences that cite nothing: what Cites names is the one passage in which code has found all that they say.
const (
	Verified   Verdict = "verified"
	Unchecked  Verdict = "unchecked"
	Unverified Verdict = "unverified"
	Found      Verdict = "found"
)

// Count is how many claims have a verdict.
func (e Evidence) Count(v Verdict) (n int) {
	for _, c := range e.Claims {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// item is the one of a number; nil if there is none.
func (e Evidence) item(n int) *Item {
	if n < 1 || n > len(e.Items) {
		return nil
	}
	return &e.Items[n-1]
}

// decoded is JSON with its numbers as they are written; nil = it is no JSON, or there is more than one value.
func decoded(raw string) (v any) {
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil
	}
	return v
}

// Package evidence collects the findings of an investigation, each with its row in the journal and its span of text. It checks the
// claims of a report against the evidence that they cite, by code. It does no I/O.
package evidence

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

// Evidence holds the findings of an investigation and the result of checking its report.
type Evidence struct {
	Items       []Item      `json:"evidence"`
	Discoveries []Discovery `json:"discoveries,omitempty"`
	// Pending lists items that were left to check.
	Pending []string `json:"pending,omitempty"`
	// LeftOut counts the pieces and discoveries beyond the limit.
	LeftOut int `json:"left_out,omitempty"`
	// Claims are the report's claims, in order; empty if no report has been checked.
	Claims []Claim `json:"claims,omitempty"`
	// Uncited counts the sentences of the report that contain numbers, names or times, cite nothing, and were not found either.
	Uncited int `json:"uncited,omitempty"`

	names   map[string]bool           // plain words that are names in this investigation: "checkout"
	quoted  map[string]map[string]int // numbers of items, by reply and by their name in it: "e1"
	results []*row                    // results of tools, in the order of the journal
	uncited []string                  // the sentences that Uncited counts
	search  *search                   // nil means not searched yet
}

// Item is a piece of evidence. Its number is its position in the journal and never changes.
type Item struct {
	N int `json:"n"`
	toolresult.Citation
	// By is the execution that named it, in its reply or through its tool; otherwise it is ByCode.
	By string `json:"by"`
	Source
	// Problem is why it proves nothing; empty means that Source is valid.
	Problem string `json:"problem,omitempty"`

	text  string // the text at that position, which claims are checked against
	asked string // the arguments of the call
	read  *reading
}

// reading is the form that claims are compared with. It is computed once.
type reading struct {
	facts
	names  []string // the subjects of the text
	called string   // the tool and its arguments
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

// Limits, because a server decides how much its tool returns, and all of it is compared with each claim.
const (
	maxItems = 1000 // pieces of evidence in an investigation, and the same number of discoveries
	maxText  = 4096 // bytes of each of their texts
)

// kept returns the beginning of a text that is too long, without a word that the end would cut in two.
func kept(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = clip.Bytes(text, maxText)
	return text[:strings.LastIndexAny(text, " \t\n{}[]\"")+1]
}

// Source is where a text is: From and To are bytes of the stored text of a journal row.
type Source struct {
	Execution string `json:"execution,omitempty"`
	Seq       int64  `json:"seq,omitempty"` // 0 means no position
	Tool      string `json:"tool,omitempty"`
	From      int    `json:"from"`
	To        int    `json:"to"`
}

// Discovery is a resource that a tool or an agent found.
type Discovery struct {
	toolresult.Discovery
	By string `json:"by"`
	Source
}

// Claim is a sentence of a report, or a part of one, with its citations.
type Claim struct {
	// N is the claim's number in the evidence, from 1. Readers set it; it is not stored.
	N     int    `json:"n,omitempty"`
	Text  string `json:"text"`
	Cites []int  `json:"cites"`
	// Verdict is the result of the check.
	Verdict Verdict `json:"verdict"`
	// Missing lists the citations that are no proof, and the parts of the claim that are in none of them.
	Missing []string `json:"missing,omitempty"`
}

// Verdict is the result of checking a claim by code.
type Verdict string

// The verdicts. Verified means that the cited evidence contains all numbers, names and times of a claim, not that the claim follows
// from it. Unchecked means that the citations exist, but the claim has nothing that code could look for. Found means that the
// sentence cites nothing, and Cites names the only passage that contains all of its numbers, names and times.
const (
	Verified   Verdict = "verified"
	Unchecked  Verdict = "unchecked"
	Unverified Verdict = "unverified"
	Found      Verdict = "found"
)

// Count returns how many claims have a verdict.
func (e Evidence) Count(v Verdict) (n int) {
	for _, c := range e.Claims {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// item returns the item with a number; nil if there is none.
func (e Evidence) item(n int) *Item {
	if n < 1 || n > len(e.Items) {
		return nil
	}
	return &e.Items[n-1]
}

// decoded decodes JSON and keeps its numbers as written. It returns nil if the text is not JSON, or is more than one value.
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

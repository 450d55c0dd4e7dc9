package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Verdict is the result of a verification.
type Verdict struct {
	// Fault names the first row that does not fit; empty means that all fit.
	Fault string `json:"fault,omitempty"`
	Rows  int64  `json:"rows"`
	// Head is the last anchor's hash; empty means that there is none. Loose is how many chains have rows that no anchor marks yet.
	// Anyone who can write to the database can remove those rows together with the chain's end.
	Head  string `json:"head,omitempty"`
	Loose int    `json:"loose,omitempty"`
	// Warnings lists the things that the verification cannot prove.
	Warnings []string `json:"warnings,omitempty"`
}

// ErrFault ends a verification because a row does not fit.
var ErrFault = errors.New("a row of the audit trail does not verify")

// Verification checks an audit trail against the ends of its chains.
type Verification struct {
	noted   string // hash of an anchor that must exist
	verdict Verdict
	ends    map[string]int64  // last row of each chain
	marks   map[string][]Mark // by chain: marks in anchors and heads for rows that have not been read yet
	last    Act
}

// NewVerification begins a verification. An anchor with the hash head must exist; an empty head requires none.
func NewVerification(head string) *Verification {
	return &Verification{noted: head, ends: map[string]int64{}, marks: map[string][]Mark{}}
}

// Ends adds the anchors in their order, and the ends of all chains.
func (v *Verification) Ends(anchors []Anchor, heads []Mark) {
	before, known, anchored := Anchor{}, v.noted == "", map[string]int64{}
	for _, a := range anchors {
		var marks []Mark
		if a.N != before.N+1 || a.Hash != a.Sum(before.Hash) || json.Unmarshal(a.Marks, &marks) != nil {
			_ = v.fault("anchor %d does not follow from anchor %d", a.N, before.N)
			return
		}
		for _, mark := range marks {
			v.marks[mark.Investigation] = append(v.marks[mark.Investigation], mark)
			anchored[mark.Investigation] = mark.N
		}
		before, known = a, known || a.Hash == v.noted
	}
	v.verdict.Head = before.Hash
	if !known {
		_ = v.fault("no anchor has the hash %s: the anchor was changed or deleted, or the hash is from another store", v.noted)
		return
	}
	for _, head := range heads {
		v.ends[head.Investigation] = head.N
		v.marks[head.Investigation] = append(v.marks[head.Investigation], head)
		if head.N > anchored[head.Investigation] {
			v.verdict.Loose++
		}
	}
}

// Act adds the next row, ordered by investigation and number. The error is ErrFault.
func (v *Verification) Act(a Act) error {
	if v.verdict.Fault != "" {
		return ErrFault
	}
	before := v.last
	if a.Investigation != before.Investigation {
		before = Act{}
	}
	v.last = a
	v.verdict.Rows++
	switch {
	case a.N != before.N+1:
		return v.fault("the row before %s is missing", a.name())
	case a.Hash != a.Sum(before.Hash):
		return v.fault("%s was changed or inserted", a.name())
	case a.N > v.ends[a.Investigation]:
		return v.fault("%s was appended after the recorded end of its hash chain", a.name())
	}
	v.marks[a.Investigation] = slices.DeleteFunc(v.marks[a.Investigation], func(m Mark) bool { return m.N == a.N && m.Hash == a.Hash })
	if slices.ContainsFunc(v.marks[a.Investigation], func(m Mark) bool { return m.N == a.N }) {
		return v.fault("%s is not the row that was anchored", a.name())
	}
	return nil
}

// Verdict returns the result after all rows have been added.
func (v *Verification) Verdict() Verdict {
	var missing []Mark
	for _, marks := range v.marks {
		missing = append(missing, marks...)
	}
	if v.verdict.Fault == "" && len(missing) > 0 {
		first := slices.MinFunc(missing, func(a, b Mark) int {
			return cmp.Or(cmp.Compare(a.Investigation, b.Investigation), cmp.Compare(a.N, b.N))
		})
		name := Act{Investigation: first.Investigation, N: first.N}.name()
		_ = v.fault("%s is missing, or the recorded end of its hash chain was changed", name)
	}
	switch {
	case v.verdict.Fault != "":
	case v.verdict.Rows == 0 && v.verdict.Head == "":
		v.warn("nothing to verify: the audit trail is empty. If investigations have run, its rows were deleted")
	case v.verdict.Rows == 0:
		v.warn("nothing to verify: the audit trail has anchors but no rows")
	case v.verdict.Head == "":
		v.warn("no anchor covers any row: an attacker who can write to the database could have deleted all anchors and the latest rows of " +
			"a chain. Anchors are created by the workers' schedule (every five minutes by default) and by `starter audit head`")
	}
	if v.verdict.Fault == "" && v.noted == "" {
		v.warn("without --head, nothing proves that the audit trail is complete: keep the output of `starter audit head` elsewhere, " +
			"and pass it with --head")
	}
	return v.verdict
}

func (v *Verification) warn(text string) { v.verdict.Warnings = append(v.verdict.Warnings, text) }

func (v *Verification) fault(format string, args ...any) error {
	v.verdict.Fault = fmt.Sprintf(format, args...)
	return ErrFault
}

// name describes the row for people.
func (a Act) name() string {
	if a.Investigation == "" {
		return fmt.Sprintf("row %d of the store itself", a.N)
	}
	return fmt.Sprintf("row %d of %s", a.N, a.Investigation)
}

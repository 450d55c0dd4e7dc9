package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Verdict says what a verification has found.
type Verdict struct {
	// Fault names the first row that does not fit; "" = all fit.
	Fault string `json:"fault,omitempty"`
	Rows  int64  `json:"rows"`
	// Head is the last anchor's hash; "" = there is none. Loose is how many chains have rows that no anchor marks yet:
	// whoever can write to the database can take those out with their chain's end.
	Head  string `json:"head,omitempty"`
	Loose int    `json:"loose,omitempty"`
	// Warnings say what the verification cannot prove.
	Warnings []string `json:"warnings,omitempty"`
}

// ErrFault ends a verification: a row does not fit.
var ErrFault = errors.New("a row of the audit trail does not fit")

// Verification reads an audit trail from its ends.
type Verification struct {
	noted   string // the hash of an anchor that must be there
	verdict Verdict
	ends    map[string]int64  // the last row of each chain
	marks   map[string][]Mark // by chain: what anchors and heads say of rows that were not read yet
	last    Act
}

// NewVerification begins a verification. It fails unless there is an anchor with that hash; "" = no anchor has to be
// there.
func NewVerification(head string) *Verification {
	return &Verification{noted: head, ends: map[string]int64{}, marks: map[string][]Mark{}}
}

// Ends takes in the anchors in their order, and the ends of all chains.
func (v *Verification) Ends(anchors []Anchor, heads []Mark) {
	before, known, anchored := Anchor{}, v.noted == "", map[string]int64{}
	for _, a := range anchors {
		var marks []Mark
		if a.N != before.N+1 || a.Hash != a.Sum(before.Hash) || json.Unmarshal(a.Marks, &marks) != nil {
			_ = v.fault("anchor %d does not fit after anchor %d", a.N, before.N)
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
		_ = v.fault("no anchor has the hash %s: what it stood for was changed, or it is another store's", v.noted)
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

// Act takes in the next row, ordered by investigation and number. The error is ErrFault.
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
		return v.fault("%s: a row before it is missing", a.name())
	case a.Hash != a.Sum(before.Hash):
		return v.fault("%s was changed, or put there", a.name())
	case a.N > v.ends[a.Investigation]:
		return v.fault("%s was put behind the end of its chain", a.name())
	}
	v.marks[a.Investigation] = slices.DeleteFunc(v.marks[a.Investigation], func(m Mark) bool { return m.N == a.N && m.Hash == a.Hash })
	if slices.ContainsFunc(v.marks[a.Investigation], func(m Mark) bool { return m.N == a.N }) {
		return v.fault("%s is not the one that stood there when it was anchored", a.name())
	}
	return nil
}

// Verdict is what was found, once all rows were taken in.
func (v *Verification) Verdict() Verdict {
	var missing []Mark
	for _, marks := range v.marks {
		missing = append(missing, marks...)
	}
	if v.verdict.Fault == "" && len(missing) > 0 {
		first := slices.MinFunc(missing, func(a, b Mark) int {
			return cmp.Or(cmp.Compare(a.Investigation, b.Investigation), cmp.Compare(a.N, b.N))
		})
		_ = v.fault("%s is missing, or the end of its chain was changed", Act{Investigation: first.Investigation, N: first.N}.name())
	}
	switch {
	case v.verdict.Fault != "":
	case v.verdict.Rows == 0 && v.verdict.Head == "":
		v.warn("there is nothing to verify: the audit trail is empty. If investigations have run, it was emptied")
	case v.verdict.Rows == 0:
		v.warn("there is nothing to verify: the audit trail has no row, only anchors")
	case v.verdict.Head == "":
		v.warn("no anchor marks any row: who can write to the database could have taken out all anchors, and rows with the end of their " +
			"chain. Anchors are made when investigations end, and by `starter audit head`")
	}
	if v.verdict.Fault == "" && v.noted == "" {
		v.warn("without --head, nothing proves that all of it is there: keep what `starter audit head` prints elsewhere, and give it")
	}
	return v.verdict
}

func (v *Verification) warn(text string) { v.verdict.Warnings = append(v.verdict.Warnings, text) }

func (v *Verification) fault(format string, args ...any) error {
	v.verdict.Fault = fmt.Sprintf(format, args...)
	return ErrFault
}

// name is the row's place, for people.
func (a Act) name() string {
	if a.Investigation == "" {
		return fmt.Sprintf("row %d of the store itself", a.N)
	}
	return fmt.Sprintf("row %d of %s", a.N, a.Investigation)
}

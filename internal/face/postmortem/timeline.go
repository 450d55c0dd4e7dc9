package postmortem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// event is a line of the timeline.
type event struct {
	at   time.Time
	text string
	// local means that the zone is not known.
	local bool
}

func lines(events []event) (out []string) {
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range events {
		at := e.at.UTC().Format(dateTime)
		if e.local {
			at = strings.TrimSuffix(at, " UTC") + " (zone not stated)"
		}
		out = append(out, at+": "+e.text)
	}
	return out
}

func (d draft) timeline() string {
	out := "### Incident\n\n" + list(lines(d.incident()), "*The report names no times.*")
	return out + "\n\n### Investigation\n\n" + list(lines(append(d.journal(), d.people()...)), notWritten)
}

var (
	// moment matches a time, perhaps with a date. Its zone follows.
	moment = regexp.MustCompile(`(?:(\d{4}-\d{2}-\d{2})[T ]|\b)(\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?`)
	zone   = regexp.MustCompile(`^ ?(?:(Z|UTC|GMT)\b|([+-]\d{2}):?(\d{2})\b)`)
	// unlike matches what follows something else: a time of another zone or of twelve hours, a longer number, an address.
	unlike = regexp.MustCompile(`^(?:[:.]?\w| ?(?:[AaPp]\.?[Mm]\b|[A-Z]{3,5}\b))`)
	// before matches what precedes something else: a position in a file, a duration.
	before = regexp.MustCompile(`(?:[\w:./-]|\b(?:took|takes|lasted|for|after|within|every) )$`)
)

// timeIn returns the first time that a text names. A time without a date is the last such time before the end of the investigation. local
// means that the text does not name the zone.
func timeIn(of string, end time.Time) (at time.Time, local, ok bool) {
	for _, m := range moment.FindAllStringSubmatchIndex(of, -1) {
		part := func(n int) string { return of[max(0, m[2*n]):max(0, m[2*n+1])] }
		day, clock, rest, offset := part(1), part(2), of[m[1]:], "Z"
		z := zone.FindStringSubmatch(rest)
		switch {
		case before.MatchString(of[:m[0]]), z == nil && unlike.MatchString(rest):
			continue
		case z != nil && z[2] != "":
			offset = z[2] + ":" + z[3]
		}
		if len(clock) == len("15:04") {
			clock += ":00"
		}
		at, err := time.Parse(time.RFC3339, cmp.Or(day, end.UTC().Format(time.DateOnly))+"T"+clock+offset)
		if err != nil {
			continue
		}
		if day == "" && at.After(end) {
			at = at.AddDate(0, 0, -1)
		}
		return at, z == nil, true
	}
	return at, false, false
}

// marker matches the beginning of a heading or of an item in a list.
var marker = regexp.MustCompile(`^\s*(?:#{1,6}\s+|[-*+]\s+|\d+[.)]\s+)?`)

// incident returns what the report says about times: its checked claims, or its lines if nothing was checked.
func (d draft) incident() (events []event) {
	r := d.Record.Investigation
	end := *cmp.Or(r.EndedAt, &r.StartedAt)
	add := func(said, row string) {
		if at, local, ok := timeIn(said, end); ok {
			events = append(events, event{at, text(said) + row, local})
		}
	}
	if d.Report.Evidence != nil {
		for _, c := range d.claims(evidence.Verified, evidence.Found) {
			add(c.Text, d.row(d.source(c)))
		}
		return events
	}
	for line := range strings.Lines(d.Report.Text) {
		add(strings.ReplaceAll(marker.ReplaceAllString(line, ""), "**", ""), d.row(d.report())+" (not checked)")
	}
	return events
}

// journal returns the conclusions of agents, and the calls that may have changed something.
func (d draft) journal() (events []event) {
	r := d.Record.Investigation
	add := func(at time.Time, seq int64, format string, args ...any) {
		events = append(events, event{at: at, text: fmt.Sprintf(format, args...) + d.row(seq)})
	}
	first := int64(0)
	for _, e := range d.Record.Entries {
		first = cmp.Or(first, e.Seq)
		by := text(e.Execution)
		switch {
		case e.Superseded:
		case e.Kind == transcript.KindResult && e.Call != nil && changes(*e.Call):
			add(e.At, e.Seq, "%s called %s: %s", by, text(e.Call.Name), outcome(e))
		case e.Kind == transcript.KindFallback:
			add(e.At, e.Seq, "%s changed its model: %s", by, text(e.Text))
		case e.Kind == transcript.KindReply && len(e.Calls) == 0 && d.ends[e.Execution] == e.Seq:
			add(e.At, e.Seq, "%s concluded", by)
		}
	}
	add(r.StartedAt, first, "The investigation began")
	ended := func(a audit.Act) bool { return a.What == audit.Ended }
	if r.EndedAt != nil && !slices.ContainsFunc(d.Acts, ended) { // older ones have no such act
		add(*r.EndedAt, 0, "The investigation ended: %s", text(string(r.Status)))
	}
	return events
}

// report returns the row of the report: the result of the last stage that has one.
func (d draft) report() (seq int64) {
	for _, s := range d.Record.Stages {
		if s.Result != "" && s.Index >= 0 {
			seq = cmp.Or(d.ends[s.Result], seq)
		}
	}
	return seq
}

// changes reports whether a call may have changed something outside of Inquest.
func changes(c transcript.Call) bool { return !c.Own && c.Risk != "" && c.Risk != agent.RiskReadOnly }

// outcome says how a call ended.
func outcome(e transcript.Entry) string {
	out := cmp.Or(text(e.Status), "no result")
	if e.Refused {
		out = "not made"
	}
	if remarks := e.Remarks(); remarks != "" {
		out += ", " + text(remarks)
	}
	return out
}

// deeds are the acts of people in the timeline, in words.
var deeds = map[audit.What]string{
	audit.Decided: "decided on", audit.Answered: "answered", audit.Extended: "extended the limits", audit.Paused: "paused the work",
	audit.Resumed: "resumed the work", audit.Concluded: "asked for the conclusion", audit.Cancelled: "cancelled the investigation",
	audit.Reset: "Temporal was reset", audit.Rated: "rated the result", audit.Guided: "told the agents",
	audit.Ended: "The investigation ended",
}

// people returns what people did.
func (d draft) people() (events []event) {
	for _, a := range d.Acts {
		deed, with := deeds[a.What], detail(a)
		who := cmp.Or(text(a.Who), "an unknown person")
		said := strings.Join(slices.Compact(slices.DeleteFunc([]string{
			cmp.Or(with["decision"], with["answer"], with["text"], with["rating"], with["status"]), with["reason"],
		}, func(s string) bool { return s == "" })), ", ")
		switch {
		case deed == "":
			continue
		case a.What == audit.Reset, a.What == audit.Ended:
			who = ""
		case a.What == audit.Answered && a.Who == "":
			who, said = "Nobody", d.asked[a.Call]
		case a.What == audit.Answered && d.asked[a.Call] != "":
			said = d.asked[a.Call] + " → " + said
		case a.What == audit.Decided && a.Who == "":
			who = "A rule or a time limit"
		}
		line := strings.TrimSpace(who + " " + deed + " " + text(a.Tool))
		if said != "" {
			line = strings.TrimSpace(line) + ": " + text(said)
		}
		events = append(events, event{at: a.At, text: strings.TrimSpace(line) + cmp.Or(d.row(d.rows[a.Execution+" "+a.Call]), d.act(a.N))})
	}
	return events
}

// detail returns the texts of an act.
func detail(a audit.Act) (out map[string]string) {
	_ = json.Unmarshal(a.Detail, &out) // older acts may have none
	return out
}

package webhook

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mapping says where the parts of an alert are in a sender's JSON. For each part, the first path that leads to a value is used.
type Mapping struct {
	Alerts                                           string // the list of alerts; empty means that the body is one alert
	AlertType, Fingerprint, Group, GroupName, Status []string
	StartsAt, Timezone, Title, Severity, Priority    []string
	Project, Chain                                   []string
	Data                                             string // the data to investigate; empty means the whole alert
	// Firing, Resolved and Ignored are values of the status. If Firing is empty, all but Resolved and Ignored fire. Otherwise an alert
	// with any other status cannot be used. "*" in Ignored stands for every other status.
	Firing, Resolved, Ignored []string
	// Priorities maps values of the severity or the priority to priorities.
	Priorities map[string]int
}

// Alert is one alert as its sender describes it.
type Alert struct {
	Type, Fingerprint, Group, GroupName string
	Title, Severity, Project, Chain     string
	Priority                            int // zero means not given
	State                               State
	StartsAt                            time.Time // zero means not given
	Data                                json.RawMessage
	Notes                               []string // say which fields were left out because they could not be read
}

// State says whether an alert is firing.
type State int

// The states of an alert. Neither means that the mapping ignores the status, such as an acknowledgement.
const (
	Firing State = iota
	Resolved
	Neither
)

// Reader reads alerts with a mapping.
type Reader struct {
	mapping Mapping
	paths   map[string]path
}

// NewReader returns a reader for a mapping, or all problems with it.
func NewReader(m Mapping) (*Reader, error) {
	r := &Reader{m, map[string]path{}}
	var errs []error
	for _, given := range m.Paths() {
		p, err := parsePath(given.Text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q is %w", given.Key, given.Text, err))
		}
		r.paths[given.Text] = p
	}
	return r, errors.Join(errs...)
}

// Path is one path of a mapping.
type Path struct {
	Key  string // name in the configuration
	N    int    // index in its list; -1 means not in a list
	Text string
}

// Paths returns all paths of a mapping.
func (m Mapping) Paths() (all []Path) {
	for key, text := range map[string]string{"alerts": m.Alerts, "data": m.Data} {
		if text != "" {
			all = append(all, Path{key, -1, text})
		}
	}
	for key, texts := range m.lists() {
		for n, text := range texts {
			all = append(all, Path{key, n, text})
		}
	}
	slices.SortFunc(all, func(a, b Path) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.N, b.N)) })
	return all
}

func (m Mapping) lists() map[string][]string {
	return map[string][]string{
		"alert_type": m.AlertType, "fingerprint": m.Fingerprint, "group": m.Group, "group_name": m.GroupName, "status": m.Status,
		"starts_at": m.StartsAt, "timezone": m.Timezone, "title": m.Title, "severity": m.Severity, "priority": m.Priority,
		"project": m.Project, "chain": m.Chain,
	}
}

// CheckPath returns an error if a path is invalid.
func CheckPath(text string) error {
	_, err := parsePath(text)
	return err
}

// Over returns base with the parts replaced that m sets.
func (m Mapping) Over(base Mapping) Mapping {
	out, own := reflect.ValueOf(&base).Elem(), reflect.ValueOf(m)
	for n := range own.NumField() {
		if !own.Field(n).IsZero() {
			out.Field(n).Set(own.Field(n))
		}
	}
	base.Priorities = maps.Clone(base.Priorities)
	return base
}

// Read returns the alerts in a body, and why other alerts cannot be used. It returns an error if none can be used. Notes and errors quote
// the beginning of values; mask masks these first.
func (r *Reader) Read(body []byte, mask func(string) string) (alerts []Alert, unusable []error, err error) {
	whole, err := decode(body)
	if err != nil {
		return nil, nil, err
	}
	return r.alerts(whole, mask)
}

// ReadSigned is Read for an Amazon SNS message. It reads only the fields that the signature covers.
func (r *Reader) ReadSigned(e Envelope, mask func(string) string) (alerts []Alert, unusable []error, err error) {
	return r.alerts(e.body(), mask)
}

func (r *Reader) alerts(whole any, mask func(string) string) (alerts []Alert, unusable []error, err error) {
	if r.unwraps() {
		if whole, err = message(whole); err != nil {
			return nil, nil, err
		}
	}
	all := []any{whole}
	if r.mapping.Alerts != "" {
		list, ok := r.paths[r.mapping.Alerts].in(whole, whole).([]any)
		if !ok {
			return nil, nil, fmt.Errorf("the body has no list %q", r.mapping.Alerts)
		}
		all = list
	}
	for n, one := range all {
		if _, ok := one.(map[string]any); !ok {
			unusable = append(unusable, fmt.Errorf("alert %d is not a JSON object", n))
			continue
		}
		a, err := (&reading{Reader: r, whole: whole, one: one, mask: mask}).alert()
		if err != nil {
			unusable = append(unusable, fmt.Errorf("alert %d: %w", n, err))
			continue
		}
		alerts = append(alerts, a)
	}
	return alerts, unusable, nil
}

// unwraps reports whether the mapping describes a message without its Amazon SNS envelope: none of its paths starts with a field of the
// envelope.
func (r *Reader) unwraps() bool {
	for _, p := range r.paths {
		if len(p.steps) > 0 && slices.Contains([]any{"Message", "TopicArn", "MessageId", "Subject", "MessageAttributes"}, p.steps[0]) {
			return false
		}
	}
	return true
}

// message returns the message in an SNS envelope, which must be JSON. It returns any other body unchanged.
func message(whole any) (any, error) {
	object, _ := whole.(map[string]any)
	said, ok := object["Message"].(string)
	if !ok || object["Type"] != snsNotification || object["TopicArn"] == nil {
		return whole, nil
	}
	inner := unwrapped(said)
	if _, text := inner.(string); text {
		return nil, errors.New("the Message of the Amazon SNS notification is neither a JSON object nor a list. To accept plain text, map " +
			"a key of the envelope, such as title: [Subject] or data: Message")
	}
	return inner, nil
}

// reading reads one alert.
type reading struct {
	*Reader
	whole, one any
	mask       func(string) string
	notes      []string
}

// values returns the values at the paths of a field.
func (r *reading) values(paths []string) (found []string) {
	for _, p := range paths {
		if value := text(r.paths[p].in(r.whole, r.one)); value != "" {
			found = append(found, value)
		}
	}
	return found
}

func (r *reading) first(paths []string) string {
	for _, value := range r.values(paths) {
		return value
	}
	return ""
}

// leftOut notes that a value of a field cannot be used.
func (r *reading) leftOut(field, value, why string) {
	r.notes = append(r.notes, fmt.Sprintf("%s %.60q was left out: %s", field, r.mask(value), why))
}

// rendered returns the first value of a field that is not a placeholder.
func (r *reading) rendered(field string, paths []string) string {
	found := r.values(paths)
	for _, value := range found {
		if !placeholder.MatchString(value) {
			return value
		}
	}
	if len(found) > 0 {
		r.leftOut(field, found[0], "it is a placeholder that the sender did not fill in")
	}
	return ""
}

// placeholder matches what template engines leave or write for a value that they do not have, such as {EVENT.ID} and *UNKNOWN* (Zabbix),
// {{ .Fingerprint }}, <no value> (Go), ${ID}, %{id}, #{id}, $EVENT_ID$ (Icinga, Datadog) and %ID%.
var placeholder = regexp.MustCompile(`^(?:\{[$#]?\w[\w.:]*\}|\{\{.*\}|[$%#@]\{.*\}|\$[A-Za-z_][\w.:]*\$?|%[A-Za-z][\w.-]*%|<%.*%>|` +
	`\*UNKNOWN\*|<no value>|<nil>|undefined|null|\[object Object\])$`)

// alert returns the alert. A field that cannot be read is left out, with a note: only the status decides whether there is an alert.
func (r *reading) alert() (Alert, error) {
	m := r.mapping
	a := Alert{
		Type: r.rendered("alert_type", m.AlertType), Group: r.rendered("group", m.Group), Severity: r.rendered("severity", m.Severity),
		Title: r.rendered("title", m.Title), Project: r.rendered("project", m.Project), Chain: r.rendered("chain", m.Chain),
		Data: encode(r.one),
	}
	var known bool
	if a.State, known = m.state(r.first(m.Status)); !known {
		return a, r.unknownStatus(r.first(m.Status))
	}
	if m.Data != "" {
		if data := unwrapped(r.paths[m.Data].in(r.whole, r.one)); data != nil {
			a.Data = encode(data)
		} else {
			r.notes = append(r.notes, "data: the alert has nothing at "+m.Data+". The whole alert is investigated instead")
		}
	}
	if a.Fingerprint = r.rendered("fingerprint", m.Fingerprint); a.Fingerprint == "" {
		a.Fingerprint = fmt.Sprintf("%x", sha256.Sum256(encode(r.one)))
	}
	a.GroupName = cmp.Or(r.rendered("group_name", m.GroupName), a.Group, a.Type)
	a.Group = cmp.Or(a.Group, a.Type)
	a.StartsAt = r.startsAt()
	a.Priority = r.priority(a.Severity)
	a.Notes = r.notes
	return a, nil
}

// startsAt returns the first time that can be read.
func (r *reading) startsAt() time.Time {
	found, zone := r.values(r.mapping.StartsAt), r.first(r.mapping.Timezone)
	var why error
	for _, value := range found {
		at, err := moment(value, zone)
		if err == nil {
			return at
		}
		why = cmp.Or(why, err)
	}
	if errors.Is(why, errZone) { // it is in the text of the time, or beside it
		found[0] += " " + zone
	}
	if why != nil {
		r.leftOut("starts_at", strings.TrimSpace(found[0]), why.Error())
	}
	return time.Time{}
}

// priority returns 1 to 5, from the table or as given. Zero means not given.
func (r *reading) priority(severity string) int {
	m, said := r.mapping, r.first(r.mapping.Priority)
	for _, word := range []string{said, severity} {
		for _, name := range slices.Sorted(maps.Keys(m.Priorities)) { // names may differ only in case
			if word != "" && strings.EqualFold(name, word) {
				return m.Priorities[name]
			}
		}
	}
	if p, err := strconv.Atoi(said); err == nil && p >= 1 && p <= 5 {
		return p
	}
	if said != "" {
		r.leftOut("priority", said, "it is neither a number from 1 to 5 nor a word in priorities")
	}
	return 0
}

// state returns the meaning of a status; known is false if the mapping does not define it.
func (m Mapping) state(status string) (state State, known bool) {
	among := func(list []string) bool {
		return slices.ContainsFunc(list, func(word string) bool { return strings.EqualFold(word, status) })
	}
	switch {
	case among(m.Resolved):
		return Resolved, true
	case among(m.Firing):
		return Firing, true
	case among(m.Ignored), status != "" && slices.Contains(m.Ignored, "*"):
		return Neither, true
	}
	return Firing, len(m.Firing) == 0
}

// unknownStatus explains why the status of an alert cannot be used.
func (r *reading) unknownStatus(status string) error {
	m := r.mapping
	if status != "" {
		return fmt.Errorf("its status is %.60q, which is not in the mapping: add it to firing (%s), resolved (%s) or ignored",
			r.mask(status), strings.Join(m.Firing, ", "), strings.Join(m.Resolved, ", "))
	}
	if len(m.Status) == 0 {
		return errors.New("the mapping sets firing without status: set status to the path of the status")
	}
	for _, p := range m.Status {
		if at := r.paths[p].stuck(r.whole, r.one); at != "" {
			return fmt.Errorf("it has no status at %s: %s is text that is not JSON", p, at)
		}
	}
	return fmt.Errorf("it has no status at %s", strings.Join(m.Status, " or "))
}

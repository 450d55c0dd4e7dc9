package webhook

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mapping says where the parts of an alert are in a sender's JSON. For each part, the first path that leads to a value is used.
type Mapping struct {
	Alerts                                           string // the list of alerts; empty means that the body is one alert
	AlertType, Fingerprint, Group, GroupName, Status []string
	StartsAt, Title, Severity, Priority              []string
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
		"starts_at": m.StartsAt, "title": m.Title, "severity": m.Severity, "priority": m.Priority, "project": m.Project, "chain": m.Chain,
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

// Read returns the alerts in a body, and why other alerts cannot be used. It returns an error if none can be used.
func (r *Reader) Read(body []byte) (alerts []Alert, unusable []error, err error) {
	whole, err := decode(body)
	if err != nil {
		return nil, nil, err
	}
	return r.alerts(whole)
}

// ReadSigned is Read for an Amazon SNS message. It reads only the fields that the signature covers.
func (r *Reader) ReadSigned(e Envelope) (alerts []Alert, unusable []error, err error) {
	return r.alerts(e.body())
}

func (r *Reader) alerts(whole any) (alerts []Alert, unusable []error, err error) {
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
		a, err := r.read(whole, one)
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
		return nil, errors.New("the Message of the Amazon SNS notification is neither a JSON object nor a list. To accept plain text, add " +
			"a path into the envelope to the mapping, such as title: [Subject] or data: Message")
	}
	return inner, nil
}

func (r *Reader) read(whole, one any) (a Alert, err error) {
	m := r.mapping
	first := func(paths []string) string {
		for _, p := range paths {
			if found := text(r.paths[p].in(whole, one)); found != "" {
				return found
			}
		}
		return ""
	}
	a = Alert{
		Type: first(m.AlertType), Group: first(m.Group), Severity: first(m.Severity), Title: first(m.Title),
		Project: first(m.Project), Chain: first(m.Chain),
	}
	var known bool
	if a.State, known = m.state(first(m.Status)); !known {
		return a, r.unknownStatus(whole, one, first(m.Status))
	}
	data := one
	if m.Data != "" {
		data = unwrapped(r.paths[m.Data].in(whole, one))
	}
	a.Data = encode(data)
	a.Fingerprint = cmp.Or(first(m.Fingerprint), fmt.Sprintf("%x", sha256.Sum256(encode(one))))
	a.GroupName = cmp.Or(first(m.GroupName), a.Group, a.Type)
	a.Group = cmp.Or(a.Group, a.Type)
	if a.StartsAt, err = moment(first(m.StartsAt)); err != nil {
		return a, err
	}
	a.Priority, err = m.priority(first(m.Priority), a.Severity)
	return a, err
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
func (r *Reader) unknownStatus(whole, one any, status string) error {
	m := r.mapping
	if status != "" {
		return fmt.Errorf("its status is %.60q, which is not in the mapping: add it to firing (%s), resolved (%s) or ignored",
			status, strings.Join(m.Firing, ", "), strings.Join(m.Resolved, ", "))
	}
	if len(m.Status) == 0 {
		return errors.New("the mapping sets firing without status: set status to the path of the status")
	}
	for _, p := range m.Status {
		if at := r.paths[p].stuck(whole, one); at != "" {
			return fmt.Errorf("it has no status at %s: %s is text that is not JSON", p, at)
		}
	}
	return fmt.Errorf("it has no status at %s", strings.Join(m.Status, " or "))
}

// priority returns 1 to 5, from the table or as given.
func (m Mapping) priority(said, severity string) (int, error) {
	for _, word := range []string{said, severity} {
		for _, name := range slices.Sorted(maps.Keys(m.Priorities)) { // names may differ only in case
			if word != "" && strings.EqualFold(name, word) {
				return m.Priorities[name], nil
			}
		}
	}
	if said == "" || len(m.Priorities) > 0 {
		return 0, nil
	}
	p, err := strconv.Atoi(said)
	if err != nil || p < 1 || p > 5 {
		return 0, fmt.Errorf("the priority is %.40q, which is neither a number from 1 to 5 nor a key of priorities", said)
	}
	return p, nil
}

const farFuture = 9999 // alerts begin before this year

// moment parses RFC 3339 (with or without a colon in the offset) or seconds or milliseconds since 1970. A sender's zero time counts as
// none.
func moment(said string) (time.Time, error) {
	if said == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, said)
	if err != nil {
		if other, wrong := time.Parse("2006-01-02T15:04:05Z0700", said); wrong == nil { // CloudWatch: 2026-11-25T06:59:00.000+0000
			at, err = other, nil
		}
	}
	if seconds, wrong := strconv.ParseFloat(said, 64); err != nil && wrong == nil && !math.IsNaN(seconds) && math.Abs(seconds) < 1e15 {
		if math.Abs(seconds) > 1e11 {
			seconds /= 1000
		}
		at, err = time.UnixMicro(int64(seconds*1e6)), nil
	}
	if err != nil || at.Year() > farFuture {
		return time.Time{}, fmt.Errorf("its start time %.40q is not a valid time", said)
	}
	if at.Year() < 2 {
		return time.Time{}, nil
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

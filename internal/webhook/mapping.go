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

// Mapping says where in a sender's JSON an alert's parts are. Each part has paths, of which the first that leads to something counts.
type Mapping struct {
	Alerts                                           string // the list of the alerts; "" = the body is one
	AlertType, Fingerprint, Group, GroupName, Status []string
	StartsAt, Title, Severity, Priority              []string
	Project, Chain                                   []string
	Data                                             string // what is investigated; "" = the alert
	// Firing and Resolved are values of the status. Without Firing, all but Resolved fire; what neither names is left alone.
	Firing, Resolved []string
	// Priorities are the priorities of values of the severity or of the priority.
	Priorities map[string]int
}

// Alert is one alert, as its sender describes it.
type Alert struct {
	Type, Fingerprint, Group, GroupName string
	Title, Severity, Project, Chain     string
	Priority                            int // 0 = none is said
	State                               State
	StartsAt                            time.Time // zero = it is not said
	Data                                json.RawMessage
}

// State is whether an alert fires.
type State int

// What a sender can say of an alert. Of what is neither, as an acknowledgement, nothing becomes.
const (
	Firing State = iota
	Resolved
	Neither
)

// Reader reads what a sender sends.
type Reader struct {
	mapping Mapping
	paths   map[string]path
}

// NewReader returns the reader of a mapping, or all that is wrong with it.
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
	Key  string // as the configuration calls it
	N    int    // place in its list; -1 = it is no list
	Text string
}

// Paths are all paths of a mapping.
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

// CheckPath says what is wrong with a path.
func CheckPath(text string) error {
	_, err := parsePath(text)
	return err
}

// Over returns the mapping with the parts replaced that another one names.
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

// Read returns the alerts of a body, and why others cannot be used. The error says that none can.
func (r *Reader) Read(body []byte) (alerts []Alert, unusable []error, err error) {
	whole, err := decode(body)
	if err != nil {
		return nil, nil, err
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
			unusable = append(unusable, fmt.Errorf("alert %d is no JSON object", n))
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
		Project: first(m.Project), Chain: first(m.Chain), State: m.state(first(m.Status)),
	}
	data := one
	if m.Data != "" {
		data = r.paths[m.Data].in(whole, one)
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

// state is what a status says.
func (m Mapping) state(status string) State {
	among := func(list []string) bool {
		return slices.ContainsFunc(list, func(word string) bool { return strings.EqualFold(word, status) })
	}
	switch {
	case among(m.Resolved):
		return Resolved
	case len(m.Firing) == 0 || among(m.Firing):
		return Firing
	}
	return Neither
}

// priority is 1 to 5, by the table or as it is.
func (m Mapping) priority(said, severity string) (int, error) {
	for _, word := range []string{said, severity} {
		for name, p := range m.Priorities {
			if word != "" && strings.EqualFold(name, word) {
				return p, nil
			}
		}
	}
	if said == "" || len(m.Priorities) > 0 {
		return 0, nil
	}
	p, err := strconv.Atoi(said)
	if err != nil || p < 1 || p > 5 {
		return 0, fmt.Errorf("the priority is %.40q, and priorities name none of that", said)
	}
	return p, nil
}

const farFuture = 9999 // a year that no alert begins after

// moment reads RFC 3339, or seconds or milliseconds since 1970. A sender's zero time is none.
func moment(said string) (time.Time, error) {
	if said == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, said)
	if seconds, wrong := strconv.ParseFloat(said, 64); err != nil && wrong == nil && !math.IsNaN(seconds) && math.Abs(seconds) < 1e15 {
		if math.Abs(seconds) > 1e11 {
			seconds /= 1000
		}
		at, err = time.UnixMicro(int64(seconds*1e6)), nil
	}
	if err != nil || at.Year() > farFuture {
		return time.Time{}, fmt.Errorf("it starts at %.40q, which is no time", said)
	}
	if at.Year() < 2 {
		return time.Time{}, nil
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

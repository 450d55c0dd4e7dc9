package sample

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

type manifestQuery struct {
	Kind string `json:"kind" jsonschema:"kind of the object in any letter case, for example deployment or configmap"`
	Name string `json:"name" jsonschema:"name of the object"`
}

func (in incident) getManifest(q manifestQuery) (string, error) {
	kinds, err := fs.ReadDir(in.root.FS(), "manifests")
	if err != nil {
		return "", err
	}
	var known []string
	for _, e := range kinds {
		if e.IsDir() {
			known = append(known, e.Name())
		}
	}
	kind := strings.ToLower(q.Kind)
	if !slices.Contains(known, kind) {
		return "", fmt.Errorf("unknown kind %q; available: %s", q.Kind, strings.Join(known, ", "))
	}
	file, err := in.pick(kind, "manifests/"+kind, q.Name, ".yaml")
	if err != nil {
		return "", err
	}
	return in.read(file)
}

type eventQuery struct {
	Kind   string `json:"kind,omitempty" jsonschema:"kind of the object in any letter case, for example Deployment or Pod"`
	Name   string `json:"name,omitempty" jsonschema:"name of the object or the beginning of its name: a deployment's name also finds its pods"`
	Type   string `json:"type,omitempty" jsonschema:"Normal or Warning"`
	Reason string `json:"reason,omitempty" jsonschema:"the reason, for example ScalingReplicaSet"`
	Since  string `json:"since,omitempty" jsonschema:"the earliest time, RFC 3339, for example 2026-03-17T14:00:00Z"`
	Until  string `json:"until,omitempty" jsonschema:"the latest time, RFC 3339"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of events to return: 50 by default, at most 200"`
}

// event has the fields of a Kubernetes event that are shown.
type event struct {
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	At      time.Time `json:"lastTimestamp"`
	Count   int       `json:"count"`
	Object  struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"involvedObject"`
}

func (in incident) listEvents(q eventQuery) (string, error) {
	limit, err := count(q.Limit, 50, 200)
	if err != nil {
		return "", err
	}
	when, err := parseSpan("since", q.Since, "until", q.Until)
	if err != nil {
		return "", err
	}
	events, err := in.events()
	if err != nil {
		return "", err
	}
	events = slices.DeleteFunc(events, func(e event) bool { return !when.has(e.At) || !q.matches(e) })
	slices.SortStableFunc(events, func(a, b event) int { return a.At.Compare(b.At) })
	shown := events[:min(limit, len(events))]
	var out strings.Builder
	fmt.Fprintf(&out, "Matching events: %d. Shown: %d, oldest first.\n", len(events), len(shown))
	for _, e := range shown {
		fmt.Fprintf(&out, "%s %s %s %s/%s: %s (count: %d)\n",
			logline.Stamp(e.At), e.Type, e.Reason, e.Object.Kind, e.Object.Name, e.Message, max(e.Count, 1))
	}
	return out.String(), nil
}

func (in incident) events() ([]event, error) {
	text, err := in.read("events.json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []event `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read events.json: %w", err)
	}
	return list.Items, nil
}

func (q eventQuery) matches(e event) bool {
	same := func(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
	return same(q.Kind, e.Object.Kind) && same(q.Type, e.Type) && same(q.Reason, e.Reason) && strings.HasPrefix(e.Object.Name, q.Name)
}

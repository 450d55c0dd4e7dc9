package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Labels describe a request, apart from the data to investigate. They are kept in the record, masked like the data.
// Lists can be filtered by them, and prompts and hooks may read the metadata.
type Labels struct {
	// Project is the project that the request belongs to; people of other projects cannot see it. Empty means
	// DefaultProject.
	Project string `json:"project,omitempty"`
	// Tenant is the tenant that the request is for. It is also Temporal's fairness key.
	Tenant string `json:"tenant,omitempty"`
	// Session groups related investigations.
	Session string `json:"session,omitempty"`
	// Priority is Temporal's priority for the workflow and everything that it starts, from 1 (first) to 5 (last). Zero
	// means Temporal's default, 3.
	Priority int `json:"priority,omitempty"`
	// Fingerprint is the same for duplicate requests. Empty means that the chain's dedup decides.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Metadata are the caller's own facts, at most 4 KB as JSON.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// TraceParent is the key of the metadata for the trace context of the request that started the investigation: a traceparent header
// (W3C Trace Context).
const TraceParent = "traceparent"

// Severity is the key of the metadata for the severity of the alert, in the words of its sender.
const Severity = "severity"

// AlertNotes is the key of the metadata for what the sender of an alert reported and could not be read, one per line.
const AlertNotes = "alert_notes"

// DefaultProject is the project of everything that names none.
const DefaultProject = "default"

// projectName matches names that can also be a part of workflow ids.
var projectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckProject returns an error for an invalid project name.
func CheckProject(name string) error {
	if !projectName.MatchString(name) {
		return fmt.Errorf(`"project" is %.70q: a project name has 1 to 63 characters (a-z, 0-9, -) and does not begin or end with -`, name)
	}
	return nil
}

const (
	// MaxMetadata is the maximum size of the metadata, in bytes of JSON.
	MaxMetadata = 4 << 10

	maxTenant      = 64 // bytes, Temporal's own maximum
	maxLabel       = 200
	lowestPriority = 5
)

// metadataKey matches keys that a prompt can name.
var metadataKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (l Labels) validate() (errs []error) {
	if l.Project != "" {
		errs = append(errs, CheckProject(l.Project))
	}
	for _, field := range []struct {
		name, value string
		most        int
	}{{"tenant", l.Tenant, maxTenant}, {"session", l.Session, maxLabel}, {"fingerprint", l.Fingerprint, maxLabel}} {
		switch {
		case len(field.value) > field.most:
			errs = append(errs, fmt.Errorf("%q is longer than %d bytes", field.name, field.most))
		case !utf8.ValidString(field.value) || strings.ContainsFunc(field.value, unseen):
			errs = append(errs, fmt.Errorf("%q has control or invisible characters", field.name))
		}
	}
	if l.Priority < 0 || l.Priority > lowestPriority {
		errs = append(errs, fmt.Errorf(`"priority" is %d: use 1 (first) to %d`, l.Priority, lowestPriority))
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		if !metadataKey.MatchString(key) {
			errs = append(errs, fmt.Errorf(`"metadata" has the key %.100q: a key has 1 to 64 characters (A-Z, a-z, 0-9, _, -)`, key))
		}
	}
	if body, err := json.Marshal(l.Metadata); err == nil && len(body) > MaxMetadata {
		errs = append(errs, fmt.Errorf(`"metadata" is %d bytes of JSON; the limit is %d`, len(body), MaxMetadata))
	}
	return errs
}

// Masked returns the labels with each text masked. The input of mask includes the keys of metadata, because a value may
// be secret because of its key.
func (l Labels) Masked(mask func(text string) (string, error)) (Labels, error) {
	var wrong error
	masked := func(text string) string {
		text, err := mask(text)
		wrong = errors.Join(wrong, err)
		return text
	}
	for _, text := range []*string{&l.Tenant, &l.Session, &l.Fingerprint} {
		if *text != "" {
			*text = masked(*text)
		}
	}
	l.Metadata = maps.Clone(l.Metadata)
	for key, value := range l.Metadata {
		pair, err := json.Marshal(map[string]string{key: value})
		wrong = errors.Join(wrong, err)
		var out map[string]string
		if json.Unmarshal([]byte(masked(string(pair))), &out) != nil || len(out) != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("the metadata %q cannot be masked", key))
		}
		l.Metadata[key] = out[key]
	}
	return l, wrong
}

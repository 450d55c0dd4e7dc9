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

// Labels are what a request says of itself, besides what is to be investigated. They are kept
// in the record, masked as the data are; lists are filtered by them, and prompts and hooks may
// read the metadata.
type Labels struct {
	// Project is whose it is: who works for another one does not see it. "" = DefaultProject.
	Project string `json:"project,omitempty"`
	// Tenant is for whom it is. Temporal's fairness key is the same.
	Tenant string `json:"tenant,omitempty"`
	// Session groups the investigations of one matter.
	Session string `json:"session,omitempty"`
	// Priority is Temporal's, of the workflow and all that it starts: 1 goes first, 5 last; 0 = Temporal's default, 3.
	Priority int `json:"priority,omitempty"`
	// Fingerprint is the same of requests that ask for the same; "" = what the chain's dedup says.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Metadata are facts of the caller's own, at most 4 KB as JSON.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// DefaultProject is that of what names none.
const DefaultProject = "default"

// projectName is also a part of workflow ids.
var projectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckProject says what is wrong with the name of a project.
func CheckProject(name string) error {
	if !projectName.MatchString(name) {
		return fmt.Errorf(`"project" is %.70q: a project's name has 1 to 63 of a-z, 0-9 and -, and - neither first nor last`, name)
	}
	return nil
}

const (
	maxTenant      = 64 // bytes, as many as Temporal takes
	maxLabel       = 200
	maxMetadata    = 4 << 10
	lowestPriority = 5
)

// metadataKey is what a prompt can name.
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
		errs = append(errs, fmt.Errorf(`"priority" is %d: give 1, which goes first, to %d`, l.Priority, lowestPriority))
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		if !metadataKey.MatchString(key) {
			errs = append(errs, fmt.Errorf(`"metadata" has the key %.100q: a key has 1 to 64 of A-Z a-z 0-9 _ and -`, key))
		}
	}
	if body, err := json.Marshal(l.Metadata); err == nil && len(body) > maxMetadata {
		errs = append(errs, fmt.Errorf(`"metadata" is %d bytes of JSON, and %d are allowed`, len(body), maxMetadata))
	}
	return errs
}

// Masked are the labels with each text masked. The keys of the metadata are part of what mask is
// given: a value may be a secret because of its name.
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

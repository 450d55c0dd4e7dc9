// Package remember holds rules: decisions that people made once for all calls of a kind, which then need no approval. A
// rule specifies all arguments that a call may have, and how long it applies. A call with any other argument does not match.
package remember

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Rule lets calls through that a person would otherwise have to approve, if the configuration allows such calls to be remembered.
type Rule struct {
	ID   string `json:"id"`
	Tool string `json:"tool"` // "server.tool", or the name of a built-in tool
	// Definition is the tool's definition when the rule was made (tool.Spec.Definition). The rule does not apply to a changed tool.
	// Empty means any definition.
	Definition string `json:"definition,omitempty"`
	// Arguments are all arguments of a matching call, by name.
	Arguments map[string]Pattern `json:"arguments,omitempty"`
	Where     Where              `json:"in,omitzero"`
	By        string             `json:"by"`
	Because   string             `json:"because,omitempty"`
	Created   time.Time          `json:"created"`
	// Expires is when the rule ends; nil means only when it is revoked.
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *Revoked   `json:"revoked,omitempty"`
	// Uses is how many calls the rule has let through, the last one at LastUsed.
	Uses     int        `json:"uses"`
	LastUsed *time.Time `json:"last_used,omitempty"`
}

// Version is a hash of the calls that the rule lets through, its places and its expiry. The audit trail uses it to name the rule.
func (r Rule) Version() string {
	r.Uses, r.LastUsed, r.Revoked = 0, nil, nil
	r.Created = r.Created.UTC()
	text, _ := json.Marshal(r) // as it was parsed from JSON
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Where holds the places in which a rule applies; empty means all. In the place of a call, an empty string means unknown.
type Where struct {
	Project     string `json:"project,omitempty"`
	Chain       string `json:"chain,omitempty"`
	Stage       string `json:"stage,omitempty"`
	Environment string `json:"environment,omitempty"` // system.environment in the configuration
}

// Revoked says who revoked a rule.
type Revoked struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// NewID returns a unique ID for a rule.
func NewID() string { return "r-" + strings.ToLower(rand.Text()[:10]) }

// Limits of a rule's texts, in bytes.
const (
	maxBecause   = 1000
	maxArguments = 64 << 10
)

// Validate returns all problems of a new rule.
func (r Rule) Validate(now time.Time) error {
	var errs []error
	if r.Tool == "" {
		errs = append(errs, errors.New("a rule needs a tool"))
	}
	if r.By == "" {
		errs = append(errs, errors.New("a rule needs an author (by)"))
	}
	if len(r.Because) > maxBecause {
		errs = append(errs, fmt.Errorf("the reason is longer than %d bytes", maxBecause))
	}
	if r.Expires != nil && !r.Expires.After(now) {
		errs = append(errs, errors.New("the rule would already have expired"))
	}
	if text, err := json.Marshal(r.Arguments); err == nil && len(text) > maxArguments {
		errs = append(errs, fmt.Errorf("the rule's arguments have more than %d bytes", maxArguments))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		if err := r.Arguments[name].validate(r.Tool, name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if r.Where.Project != "" {
		errs = append(errs, agent.CheckProject(r.Where.Project))
	}
	return errors.Join(append(errs, agent.CheckBy(r.By))...)
}

// Admits reports whether the rule applies in a place.
func (w Where) Admits(place Where) bool {
	return (w.Project == "" || w.Project == place.Project) && (w.Chain == "" || w.Chain == place.Chain) &&
		(w.Stage == "" || w.Stage == place.Stage) && (w.Environment == "" || w.Environment == place.Environment)
}

// Matcher reports whether the rule matches a call of its tool. The arguments are the model's, parsed.
type Matcher func(args map[string]any) bool

// Matcher returns the rule in a form that is fast for many calls.
func (r Rule) Matcher() Matcher {
	values := map[string]func(any) bool{}
	for name, pattern := range r.Arguments {
		values[name] = pattern.matcher(r.Tool, name)
	}
	return func(args map[string]any) bool {
		if len(args) != len(values) {
			return false
		}
		for name, value := range args {
			if meant, named := values[name]; !named || !meant(value) {
				return false
			}
		}
		return true
	}
}

// Literals returns texts that are in the arguments of every matching call, in JSON without escapes.
func (r Rule) Literals() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		if text := r.Arguments[name].literal(); text != "" && !isCommand(r.Tool, name) {
			all = append(all, text)
		}
	}
	return all
}

// Parse parses the arguments of a call. An empty string means none.
func Parse(arguments string) (args map[string]any, err error) {
	if strings.TrimSpace(arguments) == "" {
		return nil, nil
	}
	if args, ok := flat(arguments); ok {
		return args, nil
	}
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.UseNumber()
	err = decoder.Decode(&args)
	return args, err
}

// String describes the rule for people.
func (r Rule) String() string {
	words := []string{r.Tool}
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		words = append(words, name+r.Arguments[name].String())
	}
	for _, in := range []struct{ what, name string }{
		{"project", r.Where.Project}, {"chain", r.Where.Chain}, {"stage", r.Where.Stage}, {"environment", r.Where.Environment},
	} {
		if in.name != "" {
			words = append(words, "in "+in.what+" "+in.name)
		}
	}
	return strings.Join(words, " ")
}

// Said describes the rule in the journal of a call that it let through.
func (r Rule) Said() string {
	text := fmt.Sprintf("allowed by rule %s of %s", r.ID, r.By)
	if r.Because != "" {
		text += " (" + r.Because + ")"
	}
	return text
}

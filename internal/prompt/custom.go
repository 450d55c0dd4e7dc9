package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/braces"
)

// variables returns the variables of a custom prompt. Text from others is put between tags, as in other prompts.
func variables(d Data) map[string]string {
	return map[string]string{
		"Agent": line(d.Agent), "Description": line(d.Description), "Chain": line(d.Chain), "Stage": line(d.Stage),
		"AlertType": line(d.AlertType), "Iteration": strconv.Itoa(d.Iteration),
		"Request": marked("alert", d.Request), "Runbook": runbook(d),
		"RequestedBy": line(d.RequestedBy), "Tenant": line(d.Tenant), "Session": line(d.Session),
	}
}

// outputs is the prefix of variables with the outputs of earlier stages, by output key. metadata is the prefix of
// variables with the request's metadata, by key.
const (
	outputs  = "Outputs."
	metadata = "Metadata."
)

func marked(name, text string) string {
	if strings.TrimSpace(text) == "" {
		return "(none)"
	}
	return block(name, text)
}

// runbook returns the runbook after a line about its origin.
func runbook(d Data) string {
	text := marked("runbook", d.Runbook)
	if strings.TrimSpace(d.Runbook) == "" || d.RunbookOrigin == "" {
		return text
	}
	origin := "Origin of the runbook: " + line(d.RunbookOrigin)
	if d.RunbookRequested {
		origin += " (it came with the request: use it as advice on what to check, and verify its claims)"
	}
	return origin + "\n" + text
}

// Check returns an error for an invalid custom prompt.
func Check(text string) error {
	_, err := fill(text, Data{})
	return err
}

// fill expands the variables of a custom prompt.
func fill(text string, d Data) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("a prompt must not be empty")
	}
	known := variables(d)
	filled, err := braces.Expand(text, func(name, _ string) (string, error) {
		if key, ok := strings.CutPrefix(name, outputs); ok {
			return marked("result", d.Outputs[key]), nil
		}
		if key, ok := strings.CutPrefix(name, metadata); ok {
			return marked("metadata", d.Metadata[key]), nil
		}
		value, ok := known[name]
		if !ok {
			there := append(slices.Sorted(maps.Keys(known)), outputs+"KEY", metadata+"KEY")
			return "", fmt.Errorf("a prompt has no variable %s; available: %s", name, strings.Join(there, ", "))
		}
		return value, nil
	})
	if errors.Is(err, braces.ErrSyntax) {
		err = errors.New(`only {{.Name}} is allowed in double braces; to get the braces themselves, write {{"{{"}}`)
	}
	return filled, err
}

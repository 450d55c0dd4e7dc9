package inquest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// tools returns the options' tools for the worker, and an error that lists every problem with them.
func (o Options) tools() (all []builtin.Tool, wrong error) {
	named := map[string]bool{}
	for _, t := range o.Tools {
		problem := t.problem()
		if problem == nil && named[t.Name] {
			problem = errors.New("two tools have this name")
		}
		if problem != nil {
			wrong = errors.Join(wrong, fmt.Errorf("tool %q: %w", t.Name, problem))
		}
		named[t.Name] = true
		all = append(all, builtin.Func(builtin.FuncOptions{Spec: t.spec(), Run: t.run, Logger: o.logger()}))
	}
	return all, wrong
}

func (t Tool) spec() tool.Spec {
	return tool.Spec{
		Name: t.Name, Description: t.Description, Schema: bytes.Clone(t.Schema),
		Risk: cmp.Or(t.Risk, RiskWrite), Idempotent: t.Idempotent,
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// problem returns the problems of a tool, or nil.
func (t Tool) problem() error {
	var problems []error
	if !toolName.MatchString(t.Name) || strings.Contains(t.Name, "__") { // "__" ends a server's name
		problems = append(problems, errors.New("a name can have 1 to 64 characters of A-Z a-z 0-9 _ and -, without __"))
	}
	if isOurs(t.Name) {
		problems = append(problems, errors.New("a built-in tool has this name"))
	}
	if t.Run == nil {
		problems = append(problems, errors.New("there is no function to run"))
	}
	risks := []Risk{"", RiskReadOnly, RiskWrite, RiskDestructive, RiskLow, RiskMedium, RiskHigh, RiskCritical, agent.RiskUnknown}
	if !slices.Contains(risks, t.Risk) {
		problems = append(problems, fmt.Errorf("unknown risk %q", t.Risk))
	}
	return errors.Join(append(problems, cmp.Or(t.err, checkSchema(t.Schema)))...)
}

func isOurs(name string) bool {
	return name == agent.ToolReadResult || name == agent.ToolSearchTools ||
		slices.Contains(slices.Concat(agent.SkillTools(), agent.RecallTools()), name) ||
		slices.ContainsFunc(agent.Types(), func(t agent.Type) bool { return slices.Contains(t.Tools, name) })
}

// checkSchema returns an error for a schema that arguments cannot be checked against.
func checkSchema(text json.RawMessage) error {
	if len(text) == 0 {
		return errors.New(`schema: it is missing; use {"type":"object"} to accept any arguments`)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if schema.Type != "object" {
		return errors.New("schema: a tool's arguments must be an object (in Go, a struct)")
	}
	if _, err := schema.Resolve(nil); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

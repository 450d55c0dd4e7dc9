package actor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// The agents of examples/plan-execute-critique: what they say follows from what a
// person answered, from what the logs say, and from each other.

// planner asks which service hurts, and plans to look at it and at what the critic names.
func (s scene) planner() llm.Response {
	answers := prompt.Blocks(s.task, "answer")
	if len(answers) == 0 {
		return object(map[string]any{"outcome": "clarify", "question": "Which service do your customers complain about?"})
	}
	services := serviceName.FindAllString(strings.ToLower(answers[len(answers)-1]), -1)
	for _, text := range prompt.Blocks(s.task, "result") {
		var refused struct {
			Missing string `json:"missing"`
		}
		if json.Unmarshal([]byte(text), &refused) == nil && refused.Missing != "" && !slices.Contains(services, refused.Missing) {
			services = append(services, refused.Missing)
		}
	}
	return object(map[string]any{"services": services})
}

var serviceName = regexp.MustCompile(`[a-z][a-z0-9]*(-[a-z0-9]+)*`)

// executor looks at the logs of the services of the plan: of this pass's, which
// comes before those of earlier ones.
type executor struct{ scene }

func (e executor) services() []string {
	for _, text := range prompt.Blocks(e.task, "result") {
		var plan struct {
			Services []string `json:"services"`
		}
		if json.Unmarshal([]byte(text), &plan) == nil && len(plan.Services) > 0 {
			return plan.Services
		}
	}
	return nil
}

func (e executor) wants() (asks []ask) {
	for _, service := range e.services() {
		asks = append(asks, ask{"query_logs", map[string]any{"service": service, "level": "error", "limit": errorLines}})
	}
	return asks
}

func (e executor) say() llm.Response {
	if open := e.open(e.wants()); len(open) > 0 {
		return e.call("I look at what the plan names.", open)
	}
	var found []map[string]any
	logs := readLogs(e.scene)
	for _, service := range e.services() {
		message, since := logs.symptom(service)
		found = append(found, map[string]any{"service": service, "most_frequent": message, "since": logline.Stamp(since), "next": logs.path(service)})
	}
	return object(map[string]any{"found": found})
}

// critic wants the service to be looked at where the trouble begins.
func (s scene) critic() llm.Response {
	var evidence struct {
		Found []struct {
			Service string   `json:"service"`
			Message string   `json:"most_frequent"`
			Next    []string `json:"next"`
		} `json:"found"`
	}
	for _, text := range prompt.Blocks(s.task, "result") {
		if json.Unmarshal([]byte(text), &evidence) == nil && len(evidence.Found) > 0 {
			break // this pass's
		}
	}
	if len(evidence.Found) == 0 {
		return object(map[string]any{"outcome": "partial", "verdict": "nothing was found"})
	}
	looked := map[string]string{}
	for _, f := range evidence.Found {
		looked[f.Service] = f.Message
	}
	path := evidence.Found[0].Next
	begins := path[len(path)-1]
	if _, ok := looked[begins]; !ok {
		return object(map[string]any{
			"outcome": "replan", "missing": begins,
			"feedback": fmt.Sprintf("The errors of %s point to %s. Look at its logs, too.", evidence.Found[0].Service, begins),
		})
	}
	return object(map[string]any{"outcome": "success", "verdict": "enough", "cause": begins + ": " + looked[begins], "note": signature})
}

func object(fields map[string]any) llm.Response {
	body, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		body = []byte("{}") // cannot be: texts and lists of them only
	}
	return llm.Response{Content: string(body), Finish: llm.FinishStop}
}

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

// The agents of examples/plan-execute-critique. Their replies follow from a person's answer, from the logs, and from each other.

// said is a reply of one of these agents.
type said struct {
	Outcome  string   `json:"outcome,omitempty"`
	Question string   `json:"question,omitempty"` // from the planner
	Services []string `json:"services,omitempty"`
	Found    []found  `json:"found,omitempty"`   // from the executor
	Missing  string   `json:"missing,omitempty"` // from the critic
	Feedback string   `json:"feedback,omitempty"`
	Verdict  string   `json:"verdict,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	Note     string   `json:"note,omitempty"`
}

type found struct {
	Service string   `json:"service"`
	Message string   `json:"most_frequent"`
	Since   string   `json:"since"`
	Next    []string `json:"next"`
}

// earlier returns the replies in the task, those of the current pass first.
func (s scene) earlier() (out []said) {
	for _, text := range prompt.Blocks(s.task, "result") {
		var r said
		if json.Unmarshal([]byte(text), &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

func (r said) response() llm.Response {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		body = []byte("{}") // impossible: it has only strings and lists of strings
	}
	return llm.Response{Content: string(body), Finish: llm.FinishStop}
}

var serviceName = regexp.MustCompile(`[a-z][a-z0-9]*(-[a-z0-9]+)*`)

// planner asks which service is affected, and plans to examine that service and those that the critic names.
func (s scene) planner() llm.Response {
	answers := prompt.Blocks(s.task, "answer")
	if len(answers) == 0 {
		return said{Outcome: "clarify", Question: "Which service do your customers complain about?"}.response()
	}
	services := serviceName.FindAllString(strings.ToLower(answers[len(answers)-1]), -1)
	for _, r := range s.earlier() {
		if r.Missing != "" && !slices.Contains(services, r.Missing) {
			services = append(services, r.Missing)
		}
	}
	return said{Services: services}.response()
}

// executor reads the logs of the services in the plan.
func (s scene) executor() llm.Response {
	var services []string
	for _, r := range s.earlier() {
		if services = r.Services; len(services) > 0 {
			break
		}
	}
	var wants []ask
	for _, service := range services {
		wants = append(wants, errorsOf(service))
	}
	if open := s.open(wants); len(open) > 0 {
		return s.call("I will examine the services in the plan.", open)
	}
	var r said
	logs := readLogs(s)
	for _, service := range services {
		message, since := logs.symptom(service)
		r.Found = append(r.Found, found{service, message, logline.Stamp(since), logs.path(service)})
	}
	return r.response()
}

// critic asks for an examination of the service where the trouble begins.
func (s scene) critic() llm.Response {
	for _, r := range s.earlier() {
		if len(r.Found) == 0 {
			continue
		}
		if len(r.Found[0].Next) == 0 {
			break // no service has an error
		}
		path := r.Found[0].Next
		begins := path[len(path)-1]
		for _, f := range r.Found {
			if f.Service == begins {
				return said{Outcome: "success", Verdict: "enough", Cause: begins + ": " + f.Message, Note: signature}.response()
			}
		}
		feedback := fmt.Sprintf("The errors of %s point to %s. Look at its logs, too.", r.Found[0].Service, begins)
		return said{Outcome: "replan", Missing: begins, Feedback: feedback}.response()
	}
	return said{Outcome: "partial", Verdict: "nothing was found"}.response()
}

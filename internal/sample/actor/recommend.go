package actor

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// recheck holds the findings of earlier stages and the results of verifying them.
type recheck struct {
	findings
	Alert   string // the service that the alert is about
	Read    bool   // the object with the setting could be read again
	Now     string // current value in the manifest; empty means not read
	Reduced bool   // the analysis found a setting that was reduced
	Flag    string // flag for kubectl
	Sure    string
}

var namespace = regexp.MustCompile(`(?m)^  namespace: "?([\w-]+)`)

// recommendAgent verifies the cause again and writes the report.
func recommendAgent(s scene) role {
	found := recheck{findings: readFindings(prompt.Blocks(s.task, "result")...)}
	found.Alert = cmp.Or(alertService(s.task), "an unnamed service")
	if found.Object == "" && found.Suspect != "" {
		found.Object = "deployment/" + found.Suspect
	}
	var wants []ask
	if kind, name, ok := strings.Cut(found.Object, "/"); ok {
		wants = []ask{manifestOf(kind, name)}
		manifest := s.manifest(kind, name)
		found.Read, found.Now = manifest != "", settings(manifest)[found.Setting]
		if ns := group(namespace, manifest); ns != "" {
			found.Flag = " -n " + ns
		}
	}
	was, err := strconv.Atoi(found.Value)
	before, errBefore := strconv.Atoi(found.Before)
	found.Reduced = err == nil && errBefore == nil && was < before
	found.Sure = cmp.Or(found.Confidence, "low")
	if !found.Read || found.Setting != "" && found.Now != found.Value {
		found.Sure = "low"
	}
	return role{wants: wants, See: found, findings: findings{
		Suspect: found.Suspect, Onset: found.Onset, Evidence: found.Evidence, Other: found.Other, Unchecked: found.Unchecked,
	}}
}

// summary returns one line for busy readers, or the verdict of a check.
func (s scene) summary() llm.Response {
	found := readFindings(prompt.Blocks(s.task, "result")...)
	verdict := check{Verdict: agent.VerdictOK, Problems: []agent.Problem{}, Summary: "No service shows a problem."}
	if found.Suspect != "" {
		verdict.Verdict = agent.VerdictProblem
		verdict.Problems = append(verdict.Problems, agent.Problem{Name: found.Suspect + ": " + found.Symptom, Detail: found.Cause})
		verdict.Summary = found.Suspect + " has failed since " + found.Onset + ". " + found.Cause
	}
	if !strings.Contains(s.task, prompt.CheckHeading) {
		return llm.Response{Content: verdict.Summary, Finish: llm.FinishStop}
	}
	body, err := json.Marshal(verdict)
	if err != nil {
		body = []byte("{}") // impossible: it has only strings
	}
	return llm.Response{Content: string(body), Finish: llm.FinishStop}
}

// check is what the agent that summarises a check returns (plan.CheckSchema).
type check struct {
	Verdict  agent.Verdict   `json:"verdict"`
	Problems []agent.Problem `json:"problems"`
	Summary  string          `json:"summary"`
}

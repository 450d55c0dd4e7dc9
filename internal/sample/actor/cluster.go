package actor

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/prompt"
)

// The agents of examples/kind-scripted. They read a real cluster through public MCP servers: kubernetes-mcp-server and prometheus-mcp.

var (
	alertNamespace = regexp.MustCompile(`"namespace": *"([a-z0-9-]+)"`)

	// Fields of an event in the output of events_list.
	eventObject  = regexp.MustCompile(`(?m)^    Name: (\S+)`)
	eventReason  = regexp.MustCompile(`(?m)^  Reason: (.+)`)
	eventMessage = regexp.MustCompile(`(?m)^  Message: '?(.+?)'?$`)
	eventTime    = regexp.MustCompile(`(?m)^  Timestamp: (.+)`)

	jobDown   = regexp.MustCompile(`"job": *"([^"]+)"`)                  // in the output of prometheus_query
	podSuffix = regexp.MustCompile(`(-[a-z0-9]{5,10})?-[a-z0-9]{4,10}$`) // suffix of a deployment's pods
)

// clusterAgent reads the warnings in the alert's namespace.
func clusterAgent(s scene) (r role) {
	r.wants = []ask{{"events_list", map[string]any{"namespace": cmp.Or(group(alertNamespace, s.task), "default")}}}
	for _, call := range s.calls {
		for _, event := range strings.Split(call.result, "- InvolvedObject:")[1:] {
			if !strings.Contains(event, "Type: Warning") {
				continue
			}
			object, message := group(eventObject, event), group(eventMessage, event)
			if r.Suspect == "" {
				r.Suspect, r.Symptom, r.Onset = podSuffix.ReplaceAllString(object, ""), message, group(eventTime, event)
			}
			r.Evidence = append(r.Evidence, fmt.Sprintf("%s: %s: %s", object, group(eventReason, event), message))
		}
	}
	return r
}

// signalsAgent asks Prometheus for targets that are down.
func signalsAgent(s scene) (r role) {
	r.wants = []ask{{"prometheus_query", map[string]any{"query": "up == 0"}}}
	for _, call := range s.calls {
		for _, job := range jobDown.FindAllStringSubmatch(call.result, -1) {
			if r.Suspect == "" {
				r.Suspect, r.Symptom, r.Onset = job[1], "no instance answers", "now"
			}
			r.Evidence = append(r.Evidence, "up is 0 for job "+job[1])
		}
	}
	return r
}

// reporter reports the findings of the others.
func reporter(s scene) role {
	return role{findings: readFindings(prompt.Blocks(s.task, "result")...)}
}

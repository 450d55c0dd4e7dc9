package actor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/prompt"
)

// recommendAgent checks once more that the cause still holds, and writes the report.
type recommendAgent struct {
	scene
	suspect, cause, setting string
	kind, name              string // of the object with the setting
	was, before             string // the value that the analysis found, and the one before
	now                     string // the value that the manifest has now; "" = not read
	manifest                string
}

func newRecommendAgent(s scene) recommendAgent {
	a := recommendAgent{
		scene: s, suspect: fact(s.task, suspectFact), cause: fact(s.task, causeFact), setting: fact(s.task, settingFact),
		was: fact(s.task, valueFact), before: fact(s.task, beforeFact),
	}
	a.kind, a.name, _ = strings.Cut(fact(s.task, objectFact), "/")
	if a.name == "" && a.suspect != "" {
		a.kind, a.name = "deployment", a.suspect
	}
	a.manifest = s.manifest(a.kind, a.name)
	a.now = settings(a.manifest)[a.setting]
	return a
}

func (a recommendAgent) wants() []ask {
	if a.name == "" {
		return nil
	}
	return []ask{{"get_manifest", map[string]any{"kind": a.kind, "name": a.name}}}
}

func (a recommendAgent) thought() string {
	switch {
	case a.cause == "":
		return "The earlier stages name no cause; I can only say what to look at next."
	case a.manifest == "":
		return fmt.Sprintf("Before I recommend a change I look at %s/%s again: is it still as the analysis found it?", a.kind, a.name)
	}
	return fmt.Sprintf("%s is %s now; the analysis found %s. The recommendation has to fit that.", cmp.Or(a.setting, a.name), cmp.Or(a.now, "as read"), cmp.Or(a.was, "no setting"))
}

// reduced reports whether the analysis found a setting that became smaller.
func (a recommendAgent) reduced() bool {
	was, err := strconv.Atoi(a.was)
	before, errBefore := strconv.Atoi(a.before)
	return err == nil && errBefore == nil && was < before
}

func (a recommendAgent) conclude() report {
	return report{
		opening:   "# Incident report\n\n## Summary\n" + a.summary() + "\n\n## Root cause\n" + cmp.Or(a.cause, "Not found.") + "\n" + a.recheck(),
		facts:     []labelled{{suspectFact, a.suspect}, {onsetFact, fact(a.task, onsetFact)}},
		evidence:  a.gather(evidenceList),
		other:     a.gather(otherList),
		unchecked: a.gather(uncheckedList),
		closing:   "## Remediation\n" + a.remedy() + "\n\n## How sure\n" + a.howSure(),
	}
}

func (a recommendAgent) summary() string {
	service := alertService(a.task)
	if a.suspect == "" {
		return fmt.Sprintf("There is an alert on %s. The investigation found no service that explains it.", cmp.Or(service, "an unnamed service"))
	}
	return fmt.Sprintf("The alert is on %s. The trouble begins in %s: %q, since %s.",
		cmp.Or(service, "an unnamed service"), a.suspect, fact(a.task, symptomFact), fact(a.task, onsetFact))
}

func (a recommendAgent) recheck() string {
	switch {
	case a.name == "":
		return ""
	case a.manifest == "":
		return fmt.Sprintf("I could not read %s/%s again.", a.kind, a.name)
	case a.setting == "":
		return fmt.Sprintf("I read %s/%s again; no single setting stands out.", a.kind, a.name)
	case a.now == a.was:
		return fmt.Sprintf("Read again just now: %s in %s/%s is still %s.", a.setting, a.kind, a.name, a.now)
	}
	return fmt.Sprintf("**Changed meanwhile:** %s in %s/%s is %s now; the analysis found %s.", a.setting, a.kind, a.name, orNone(a.now), a.was)
}

func (a recommendAgent) remedy() string {
	flag := ""
	if ns := group(namespace, a.manifest); ns != "" {
		flag = " -n " + ns
	}
	switch {
	case !a.reduced():
		return numberedList(
			"Change nothing yet: the cause is not shown.",
			fmt.Sprintf("Look at what changed in %s before the onset, at its load, and at how long it holds connections.", cmp.Or(a.suspect, "the services of the alert")),
		)
	case a.now != "" && a.now != a.was:
		return numberedList(
			fmt.Sprintf("Somebody changed %s to %s. Check that the pods have it: `kubectl%s rollout status deployment/%s`.", a.setting, a.now, flag, a.suspect),
			"Watch the errors and the latency of "+a.suspect+" before any further change.",
		)
	}
	return numberedList(
		fmt.Sprintf("Now: `kubectl%s rollout undo deployment/%s`, which goes back to the settings with %s = %s. Check first that nothing else in that rollout is needed.", flag, a.suspect, a.setting, a.before),
		fmt.Sprintf("Confirm: no requests wait for a connection in %s, its errors stop, and the latency of %s falls.", a.suspect, cmp.Or(alertService(a.task), "its callers")),
		fmt.Sprintf("Then: roll the release out again with %s = %s (%s now).", a.setting, a.before, a.was),
		"Prevent: alert on requests that wait for a connection, compare settings in review, and roll out to one pod first.",
	)
}

func numberedList(steps ...string) string {
	var out []string
	for i, step := range steps {
		out = append(out, fmt.Sprintf("%d. %s", i+1, step))
	}
	return strings.Join(out, "\n")
}

func (a recommendAgent) howSure() string {
	sure := cmp.Or(fact(a.task, confidenceFact), "low")
	if a.manifest == "" || (a.now != a.was && a.setting != "") {
		sure = "low"
	}
	return fmt.Sprintf("**%s:** %s. The change itself was not tried; only undoing it and seeing the symptoms go would prove it.", confidenceFact, sure)
}

// gather joins a list of all earlier results, without repetitions.
func (a recommendAgent) gather(heading string) []string {
	var out []string
	seen := map[string]bool{}
	for _, result := range prompt.Blocks(a.task, "result") {
		for _, item := range bullets(result, heading) {
			if !seen[item] {
				seen[item] = true
				out = append(out, item)
			}
		}
	}
	return out
}

package actor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// analysisAgent tests the suspect of the stage before: what was it told to be,
// and does that explain what its logs say?
type analysisAgent struct {
	scene
	suspect, symptom string
	onset            time.Time
	deployment       string   // manifest
	configs          []string // names of its config maps
	pool             poolCheck
}

// poolCheck is the size of the suspect's connection pool, now and before; 0 = not known.
type poolCheck struct {
	key, config, previous string
	now, before, replicas int
	logged                []int // sizes that the suspect logged when it started, in order
}

func newAnalysisAgent(s scene) analysisAgent {
	a := analysisAgent{scene: s, suspect: fact(s.task, suspectFact), symptom: fact(s.task, symptomFact)}
	a.onset, _ = time.Parse(time.RFC3339, fact(s.task, onsetFact))
	a.deployment = s.manifest("deployment", a.suspect)
	for _, m := range configRef.FindAllStringSubmatch(a.deployment, -1) {
		a.configs = append(a.configs, m[1])
	}
	a.pool = a.checkPool()
	return a
}

func (a analysisAgent) checkPool() poolCheck {
	p := poolCheck{}
	p.replicas, _ = strconv.Atoi(group(replicas, a.deployment))
	p.logged = a.loggedSizes()
	for _, name := range a.configs {
		key, size, ok := poolSize(settings(a.manifest("configmap", name)))
		if !ok {
			continue
		}
		p.key, p.config, p.now = key, name, size
		if _, before, ok := poolSize(settings(a.manifest("configmap", predecessor(name)))); ok {
			p.previous, p.before = predecessor(name), before
		}
	}
	if n := len(p.logged); n > 0 && p.now == 0 {
		p.now = p.logged[n-1]
	}
	if len(p.logged) > 1 && p.before == 0 {
		p.before = p.logged[0]
	}
	return p
}

// loggedSizes reads the pool sizes out of what the shell found in the log.
func (a analysisAgent) loggedSizes() []int {
	var out []int
	for _, c := range a.results("shell") {
		for _, l := range logline.Parse(a.suspect, c.result) {
			if size, err := strconv.Atoi(l.Fields["max"]); err == nil && l.Level == "info" {
				out = append(out, size)
			}
		}
	}
	return out
}

// plain is text that means nothing to a shell, between quotes or without.
var plain = regexp.MustCompile(`^\w[\w -]*$`)

func (a analysisAgent) wants() []ask {
	if !plain.MatchString(a.suspect) {
		return nil
	}
	asks := []ask{{"get_manifest", map[string]any{"kind": "deployment", "name": a.suspect}}}
	if plain.MatchString(a.symptom) {
		asks = append(asks, ask{"shell", map[string]any{"command": "grep -c '" + a.symptom + "' logs/*.log"}})
	}
	if !a.onset.IsZero() {
		asks = append(asks, ask{"list_events", map[string]any{"kind": "Deployment", "since": logline.Stamp(a.onset.Add(-15 * time.Minute)), "until": logline.Stamp(a.onset.Add(10 * time.Minute))}})
	}
	if len(a.calls) == 0 {
		return asks
	}
	asks = append(asks, ask{"shell", map[string]any{"command": "grep -h 'pool ready' logs/" + a.suspect + ".log"}})
	for _, name := range a.configs {
		asks = append(asks, ask{"get_manifest", map[string]any{"kind": "configmap", "name": name}})
		if before := predecessor(name); before != "" {
			asks = append(asks, ask{"get_manifest", map[string]any{"kind": "configmap", "name": before}})
		}
	}
	return asks
}

func (a analysisAgent) thought() string {
	switch {
	case a.suspect == "":
		return "Thought: the stage before names no suspect, so there is nothing that I could test."
	case len(a.calls) == 0:
		return fmt.Sprintf("Thought: the stage before suspects %s (%s, from %s on). Its deployment, the events before that, and whether the symptom stands in other logs too should decide it.",
			a.suspect, a.symptom, fact(a.task, onsetFact))
	case len(a.configs) > 0 && a.pool.key == "":
		return fmt.Sprintf("Thought: %s takes its settings from %s. What do these say, what did the version before say, and what did the service log when it started?",
			a.suspect, strings.Join(a.configs, ", "))
	case a.pool.cut():
		return fmt.Sprintf("Thought: the pool went from %d to %d. That explains %q.", a.pool.before, a.pool.now, a.symptom)
	}
	return "Thought: what I know shows no reduced pool; other settings may still explain it."
}

// cut reports whether the pool is known to be smaller than before.
func (p poolCheck) cut() bool { return p.now > 0 && p.now < p.before }

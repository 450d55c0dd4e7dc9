package actor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func (a analysisAgent) conclude() report {
	if a.suspect == "" {
		return report{opening: "Final Answer:\n\nThe stage before names no suspect; I have nothing to test.", facts: []labelled{{confidenceFact, "low"}}}
	}
	cause, confidence := a.cause()
	r := report{
		opening:  "Final Answer:\n\n## Analysis",
		facts:    []labelled{{suspectFact, a.suspect}, {onsetFact, fact(a.task, onsetFact)}, {symptomFact, a.symptom}, {causeFact, cause}},
		evidence: a.evidence(),
	}
	if p := a.pool; p.config != "" {
		r.facts = append(r.facts, labelled{settingFact, p.key}, labelled{objectFact, "configmap/" + p.config},
			labelled{valueFact, strconv.Itoa(p.now)}, labelled{beforeFact, known(p.before)})
	}
	r.facts = append(r.facts, labelled{confidenceFact, confidence})
	return r
}

func known(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// cause says what explains the symptom, and how sure that is.
func (a analysisAgent) cause() (text, confidence string) {
	p := a.pool
	about := strings.Contains(a.symptom, "pool")
	switch {
	case p.cut() && about:
		confidence = "medium"
		if p.config != "" && len(p.logged) > 0 && p.logged[len(p.logged)-1] == p.now {
			confidence = "high" // the manifest and the running service agree
		}
		return fmt.Sprintf("The connection pool of %s was cut from %d to %d a pod%s%s; requests wait for a connection until they time out.",
			a.suspect, p.before, p.now, a.inAll(), a.by()), confidence
	case p.cut():
		return fmt.Sprintf("The connection pool of %s was cut from %d to %d%s, but its errors (%q) do not speak of the pool: likely, not shown.",
			a.suspect, p.before, p.now, a.by(), a.symptom), "low"
	case p.now > 0 && p.before > 0:
		return fmt.Sprintf("Not found. The connection pool of %s was not reduced (%d, before %d), so %q has another reason: more load, or connections held for longer.",
			a.suspect, p.now, p.before, a.symptom), "low"
	case p.now > 0 && about:
		return fmt.Sprintf("The connection pool of %s (%d) is exhausted; whether it was larger before is not known.", a.suspect, p.now), "low"
	}
	return fmt.Sprintf("Not found. %s reports %q, but no setting that I could read explains it.", a.suspect, a.symptom), "low"
}

func (a analysisAgent) inAll() string {
	if a.pool.replicas == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d to %d with %d pods)", a.pool.before*a.pool.replicas, a.pool.now*a.pool.replicas, a.pool.replicas)
}

func (a analysisAgent) by() string {
	if a.pool.config == "" {
		return ""
	}
	text := " by " + a.pool.key + " in " + a.pool.config
	if img := group(image, a.deployment); img != "" {
		text += ", which " + img[strings.LastIndex(img, "/")+1:] + " uses"
	}
	return text
}

func (a analysisAgent) evidence() []string {
	var out []string
	if a.deployment != "" {
		out = append(out, fmt.Sprintf("get_manifest deployment/%s: image %s, %d replicas, settings from %s; last change: %q.",
			a.suspect, group(image, a.deployment), a.pool.replicas, orNone(strings.Join(a.configs, ", ")), group(changed, a.deployment)))
	}
	for _, name := range a.configs {
		out = append(out, a.compare(name)...)
	}
	if n := len(a.pool.logged); n > 0 {
		out = append(out, fmt.Sprintf("shell grep: %s logged %d pools when it started, with max %s.", a.suspect, n, join(a.pool.logged)))
	}
	out = append(out, a.counts()...)
	for _, c := range a.results("list_events") {
		for _, m := range scaled.FindAllStringSubmatch(c.result, -1) {
			out = append(out, fmt.Sprintf("list_events: %s %s: %s.", m[1], m[2], m[3]))
		}
	}
	return out
}

// compare says how a config map differs from its predecessor.
func (a analysisAgent) compare(name string) []string {
	now, before := a.manifest("configmap", name), a.manifest("configmap", predecessor(name))
	if now == "" || before == "" {
		return nil
	}
	changes := differences(settings(before), settings(now))
	if len(changes) == 0 {
		return []string{fmt.Sprintf("get_manifest: configmap/%s says the same as %s.", name, predecessor(name))}
	}
	return []string{fmt.Sprintf("get_manifest: configmap/%s against %s: %s.", name, predecessor(name), strings.Join(changes, ", "))}
}

var grepCount = regexp.MustCompile(`(?m)^(\S+):(\d+)$`)

// counts reads grep -c: how often the symptom stands in which log.
func (a analysisAgent) counts() []string {
	n := map[string]int{}
	files := 0
	for _, c := range a.results("shell") {
		for _, m := range grepCount.FindAllStringSubmatch(c.result, -1) {
			files++
			if count, err := strconv.Atoi(m[2]); err == nil && count > 0 {
				n[m[1]] = count
			}
		}
	}
	if files == 0 {
		return nil
	}
	var found []string
	for _, file := range ranked(n) {
		found = append(found, fmt.Sprintf("%d times in %s", n[file], file))
	}
	return []string{fmt.Sprintf("shell grep: %q stands %s, of %d logs searched.", a.symptom, orNone(strings.Join(found, ", ")), files)}
}

func join(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

package actor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// Patterns for manifests and grep output. Each matches a single line, whatever surrounds it.
var (
	configRef  = regexp.MustCompile(`(?m)configMap(?:Key)?Ref:\s*\n\s+name: "?([\w.-]+)`)
	replicas   = regexp.MustCompile(`(?m)^  replicas: (\d+)`)
	image      = regexp.MustCompile(`(?m)^\s+(?:- )?image: (?:\S*/)?(\S+)`)
	setting    = regexp.MustCompile(`(?m)^  ([A-Z][A-Z0-9_]*): "?([^"\n]*?)"?$`)
	poolName   = regexp.MustCompile(`POOL.*MAX|MAX.*POOL|POOL_SIZE`)
	numbered   = regexp.MustCompile(`^(.*-v)(\d+)$`)
	scaled     = regexp.MustCompile(`(?m)^(\S+) \S+ ScalingReplicaSet Deployment/(\S+): (Scaled up .*) \(count: \d+\)$`)
	foundTimes = regexp.MustCompile(`(?m)^(\S+):([1-9]\d*)$`) // from grep -c
)

// plain matches text without special characters for a shell.
var plain = regexp.MustCompile(`^\w[\w -]*$`)

// pool is the size of the suspect's connection pool, now and before. Zero means unknown.
type pool struct {
	findings
	Configs, Image    string // named in the deployment
	Config            string // the config map with the size
	Now, Before, Pods int
	logged            []int // sizes that the suspect logged at startup, in order
}

// Cut reports whether the pool is known to have shrunk.
func (p pool) Cut() bool      { return p.Now > 0 && p.Now < p.Before }
func (p pool) About() bool    { return strings.Contains(p.Symptom, "pool") }
func (p pool) AllNow() int    { return p.Now * p.Pods }
func (p pool) AllBefore() int { return p.Before * p.Pods }

// analysisAgent examines the suspect from the stage before: how was it configured, and does that explain its logs?
func analysisAgent(s scene) role {
	parsed := readFindings(prompt.Blocks(s.task, "result")...)
	if !plain.MatchString(parsed.Suspect) {
		return role{findings: findings{Confidence: "low"}, See: pool{}}
	}
	f := findings{Suspect: parsed.Suspect, Onset: parsed.Onset, Symptom: parsed.Symptom, Confidence: "low"}
	deployment := s.manifest("deployment", f.Suspect)
	configs := groups(configRef, deployment)
	p := pool{findings: f, Configs: strings.Join(configs, ", "), Image: group(image, deployment), logged: loggedSizes(s)}
	p.Pods, _ = strconv.Atoi(group(replicas, deployment))
	for _, name := range configs {
		if key, size := poolSize(s, name); size > 0 {
			p.Setting, p.Config, p.Now = key, name, size
			_, p.Before = poolSize(s, predecessor(name))
		}
	}
	if n := len(p.logged); n > 0 {
		p.Now = cmp.Or(p.Now, p.logged[n-1])
		if n > 1 {
			p.Before = cmp.Or(p.Before, p.logged[0])
		}
	}
	f.Cause = say("cause", p)
	if p.Config != "" {
		f.Setting, f.Object, f.Value = p.Setting, "configmap/"+p.Config, strconv.Itoa(p.Now)
		if p.Before > 0 {
			f.Before = strconv.Itoa(p.Before)
		}
	}
	if p.Cut() && p.About() {
		f.Confidence = "medium"
		if n := len(p.logged); p.Config != "" && n > 0 && p.logged[n-1] == p.Now {
			f.Confidence = "high" // the manifest and the running service agree
		}
	}
	f.Evidence = p.evidence(s)
	return role{wants: analysisWants(s, f, configs), findings: f, See: p}
}

func analysisWants(s scene, f findings, configs []string) []ask {
	asks := []ask{manifestOf("deployment", f.Suspect)}
	if plain.MatchString(f.Symptom) {
		asks = append(asks, ask{"shell", map[string]any{"command": "grep -c '" + f.Symptom + "' logs/*.log"}})
	}
	if onset, err := time.Parse(time.RFC3339, f.Onset); err == nil {
		asks = append(asks, eventsAround(onset, 10*time.Minute, "kind", "Deployment"))
	}
	if len(s.calls) == 0 {
		return asks
	}
	asks = append(asks, ask{"shell", map[string]any{"command": "grep -h 'pool ready' logs/" + f.Suspect + ".log"}})
	for _, name := range configs {
		asks = append(asks, manifestOf("configmap", name))
		if before := predecessor(name); before != "" {
			asks = append(asks, manifestOf("configmap", before))
		}
	}
	return asks
}

func (p pool) evidence(s scene) (out []string) {
	if p.Image != "" {
		out = append(out, fmt.Sprintf("get_manifest deployment/%s: image %s, replicas: %d, settings from %s.",
			p.Suspect, p.Image, p.Pods, cmp.Or(p.Configs, "no config map")))
	}
	if len(p.logged) > 0 {
		out = append(out, fmt.Sprintf("shell grep: pool sizes that %s logged at startup: %v.", p.Suspect, p.logged))
	}
	for _, c := range s.results("shell") {
		for _, m := range foundTimes.FindAllStringSubmatch(c.result, -1) {
			out = append(out, fmt.Sprintf("shell grep: lines with %q in %s: %s.", p.Symptom, m[1], m[2]))
		}
	}
	for _, c := range s.results("list_events") {
		for _, m := range scaled.FindAllStringSubmatch(c.result, -1) {
			out = append(out, fmt.Sprintf("list_events: %s %s: %s.", m[1], m[2], m[3]))
		}
	}
	return out
}

// loggedSizes extracts the pool sizes from the log lines that the shell found.
func loggedSizes(s scene) (out []int) {
	for _, c := range s.results("shell") {
		for _, l := range logline.Parse("", c.result) {
			if size, err := strconv.Atoi(l.Fields["max"]); err == nil && l.Level == "info" {
				out = append(out, size)
			}
		}
	}
	return out
}

func manifestOf(kind, name string) ask {
	return ask{"get_manifest", map[string]any{"kind": kind, "name": name}}
}

// manifest returns a manifest from get_manifest. An empty string means that none was read.
func (s scene) manifest(kind, name string) string {
	for _, c := range s.results("get_manifest") {
		if c.text("kind") == kind && c.text("name") == name {
			return c.result
		}
	}
	return ""
}

// settings returns the data of a config map.
func settings(manifest string) map[string]string {
	out := map[string]string{}
	for _, m := range setting.FindAllStringSubmatch(manifest, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// poolSize finds the setting in a config map that limits a connection pool. Zero means that there is none.
func poolSize(s scene, config string) (key string, size int) {
	values := settings(s.manifest("configmap", config))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if size, err := strconv.Atoi(values[key]); err == nil && poolName.MatchString(key) {
			return key, size
		}
	}
	return "", 0
}

// predecessor returns the version before a numbered config map (name-v42), or an empty string if it is not numbered.
func predecessor(name string) string {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n < 2 {
		return ""
	}
	return m[1] + strconv.Itoa(n-1)
}

// groups returns all matches of a pattern's first group.
func groups(pattern *regexp.Regexp, text string) (out []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// group returns the first match of a pattern's first group. An empty string means none.
func group(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

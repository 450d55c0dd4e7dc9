package actor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// What is read out of manifests: single lines, whatever stands around them.
var (
	configRef  = regexp.MustCompile(`(?m)configMap(?:Key)?Ref:\s*\n\s+name: "?([\w.-]+)`)
	replicas   = regexp.MustCompile(`(?m)^  replicas: (\d+)`)
	image      = regexp.MustCompile(`(?m)^\s+(?:- )?image: (\S+)`)
	namespace  = regexp.MustCompile(`(?m)^  namespace: "?([\w-]+)`)
	changed    = regexp.MustCompile(`(?m)^    kubernetes.io/change-cause: "?([^"\n]*)`)
	setting    = regexp.MustCompile(`(?m)^  ([A-Z][A-Z0-9_]*): "?([^"\n]*?)"?$`)
	poolName   = regexp.MustCompile(`POOL.*MAX|MAX.*POOL|POOL_SIZE`)
	numbered   = regexp.MustCompile(`^(.*-v)(\d+)$`)
	wholeCount = regexp.MustCompile(`^\d+$`)
)

// group returns what a pattern's first group matches; "" = nothing.
func group(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// settings reads the data of a config map.
func settings(manifest string) map[string]string {
	out := map[string]string{}
	for _, m := range setting.FindAllStringSubmatch(manifest, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// poolSize finds the setting that limits a connection pool.
func poolSize(values map[string]string) (key string, size int, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if poolName.MatchString(key) && wholeCount.MatchString(values[key]) {
			size, err := strconv.Atoi(values[key])
			return key, size, err == nil
		}
	}
	return "", 0, false
}

// predecessor names the version before a config map that is numbered (name-v42);
// "" if it is not.
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

// differences lists the settings that two config maps do not share.
func differences(before, now map[string]string) []string {
	all := maps.Clone(before)
	maps.Copy(all, now)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if before[key] != now[key] {
			out = append(out, fmt.Sprintf("%s %s → %s", key, orNone(before[key]), orNone(now[key])))
		}
	}
	return out
}

func orNone(value string) string { return cmp.Or(value, "(none)") }

// manifest returns the text of an object that get_manifest has shown; "" = none.
func (s scene) manifest(kind, name string) string {
	for _, c := range s.results("get_manifest") {
		if c.text("kind") == kind && c.text("name") == name {
			return c.result
		}
	}
	return ""
}

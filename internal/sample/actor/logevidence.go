package actor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

func (a logAgent) evidence() []string {
	out := []string{"query_logs: error lines by service: " + a.ranking() + "."}
	for i, service := range a.path[:len(a.path)-1] {
		errs := a.logs.of(service, "error")
		next := a.path[i+1]
		msg, _ := most(tally(errs, "msg"))
		n := tally(errs, "dependency", "upstream")[next]
		out = append(out, fmt.Sprintf("query_logs: %d of %d error lines of %s that I read name %s, most often as %q.", n, len(errs), service, next, msg))
	}
	own := a.logs.of(a.suspect, "error")
	out = append(out, fmt.Sprintf("query_logs: %d of %d error lines of %s that I read say %q%s.", tally(own, "msg")[a.msg], len(own), a.suspect, a.msg, a.poolState()))
	for _, service := range a.offPath() {
		errs := a.logs.of(service, "error")
		if next, n := a.leadsIn(errs); n > 0 {
			out = append(out, fmt.Sprintf("query_logs: %d of %d error lines of %s that I read name %s.", n, len(errs), service, next))
		}
	}
	return append(out, a.changes()...)
}

// offPath are the services with errors that I read and that are not on the path.
func (a logAgent) offPath() []string {
	return slices.DeleteFunc(ranked(a.logs.errors), func(service string) bool {
		return slices.Contains(a.path, service) || len(a.logs.of(service, "error")) == 0
	})
}

// leadsIn returns the service on the path that most of the lines name, if any.
func (a logAgent) leadsIn(errs []logline.Line) (service string, n int) {
	service, n = most(tally(errs, "dependency", "upstream"))
	if !slices.Contains(a.path, service) {
		return "", 0
	}
	return service, n
}

// poolState quotes the numbers that the suspect's last error gives for its pool.
func (a logAgent) poolState() string {
	own := a.logs.of(a.suspect, "error")
	if len(own) == 0 {
		return ""
	}
	fields := own[len(own)-1].Fields
	var out []string
	for _, name := range []string{"pool", "max", "in_use", "waiting"} {
		if fields[name] != "" {
			out = append(out, name+" "+fields[name])
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (the last one: " + strings.Join(out, ", ") + ")"
}

var scaled = regexp.MustCompile(`(?m)^(\S+) \S+ ScalingReplicaSet Deployment/(\S+): (Scaled up .*) \(\d+ times\)$`)

// changes are what happened to the suspect before the onset: versions, pools, rollouts.
func (a logAgent) changes() []string {
	var out []string
	versions, pools := a.starts("version"), a.starts("max")
	if n := len(versions); n > 0 {
		out = append(out, "query_logs: "+a.suspect+" started as version "+versions[n-1]+a.earlier(versions)+".")
	}
	if n := len(pools); n > 0 {
		out = append(out, "query_logs: its pool was made with max "+pools[n-1]+a.earlier(pools)+".")
	}
	for _, c := range a.results("list_events") {
		if all := scaled.FindAllStringSubmatch(c.result, -1); len(all) > 0 {
			out = append(out, fmt.Sprintf("list_events: %d steps of a rollout of %s before the onset, from %s on (%s).", len(all), all[0][2], all[0][1], all[0][3]))
		}
	}
	return out
}

// starts returns the values of a field in the suspect's start-up lines up to the
// onset, each with the time of its first appearance.
func (a logAgent) starts(field string) []string {
	var out []string
	last := ""
	for _, l := range a.logs.of(a.suspect, "info") {
		value := l.Fields[field]
		if value == "" || l.Level != "info" || l.At.After(a.onset) || value == last {
			continue
		}
		last = value
		out = append(out, fmt.Sprintf("%s at %s", value, logline.Stamp(l.At)))
	}
	return out
}

func (a logAgent) earlier(values []string) string {
	if len(values) < 2 {
		return ""
	}
	return ", before: " + values[len(values)-2]
}

// other are errors off the path, and what guidance was followed.
func (a logAgent) other() []string {
	var out []string
	for _, service := range a.offPath() {
		errs := a.logs.of(service, "error")
		if _, n := a.leadsIn(errs); n > 0 {
			continue
		}
		msg, _ := most(tally(errs, "msg"))
		out = append(out, fmt.Sprintf("%s: error lines: %d, most often %q, from %s to %s.", service, a.logs.errors[service], msg,
			logline.Stamp(errs[0].At), logline.Stamp(errs[len(errs)-1].At)))
	}
	if services := a.guided(); len(services) > 0 {
		out = append(out, "As guided, I looked at the errors of "+strings.Join(services, ", ")+": "+a.ranking()+".")
	}
	return out
}

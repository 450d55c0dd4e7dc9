package plan_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	const data = `{"labels": {"alertname": "Disk full", "n": [1,  2]}, "text": "", "user": "[MASKED_EMAIL]"}`
	req := agent.Request{AlertType: "disk", Labels: agent.Labels{Tenant: "acme", Metadata: map[string]string{"team": "db"}}}
	given := req
	given.Fingerprint = "mine"
	masked := req
	masked.Fingerprint = "login of [MASKED_EMAIL]"
	for name, tt := range map[string]struct {
		by            []string
		req           agent.Request
		want, missing string
	}{
		"none":  {nil, req, "", ""},
		"given": {[]string{"data.nope"}, given, "mine", ""},
		"of all": {[]string{"alert_type", "tenant", "metadata.team", "data.labels.alertname", "data.labels.n"}, req,
			`c "disk" "acme" "db" "Disk full" "[1,2]"`, ""},
		"no session":    {[]string{"alert_type", "session"}, req, "", "session"},
		"no key":        {[]string{"data.labels.pod"}, req, "", "data.labels.pod"},
		"no object":     {[]string{"data.labels.alertname.x"}, req, "", "data.labels.alertname.x"},
		"empty":         {[]string{"data.text"}, req, "", "data.text"},
		"masked":        {[]string{"tenant", "data.user"}, req, "", "data.user without masked text"},
		"given, masked": {[]string{"tenant"}, masked, "", "fingerprint without masked text"},
	} {
		got, missing := plan.Dedup{By: tt.by}.Fingerprint("c", tt.req, data)
		if got != tt.want || missing != tt.missing {
			t.Errorf("%s: %s, missing %q", name, got, missing)
		}
	}
	if got, _ := (plan.Dedup{By: []string{"data"}}).Fingerprint("c", req, `{"a": 1}`); got != `c "{\"a\": 1}"` {
		t.Errorf("whole data: %s", got)
	}
	long := plan.Dedup{By: []string{"data"}}
	a, _ := long.Fingerprint("c", req, strings.Repeat("x", 300))
	b, _ := long.Fingerprint("c", req, strings.Repeat("x", 301))
	if len(a) != len("c ")+32 || a == b {
		t.Errorf("%s and %s", a, b)
	}
}

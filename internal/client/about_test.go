package client

import "testing"

func TestAbout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ data, want string }{
		"text":    {"# checkout is  slow\nsince noon", "checkout is slow"},
		"a title": {`{"id": 1, "labels": ["title"], "Title": "checkout\nis slow", "summary": "x"}`, "checkout"},
		"Alertmanager": {
			`{"alerts":[{"labels":{"alertname":"HighErrorRate"},"annotations":{"summary":"5xx of checkout"}}]}`, "5xx of checkout",
		},
		"the first of many": {`[{"summary":"one"},{"summary":"two"}]`, "one"},
		"cut off":           {`{"title": "slow", "log": "aaa`, "slow"},
		"no title": {`{"a": {"b": [1, null,
	 2]}}`, `{"a": {"b": [1, null, 2]}}`},
		"a value that is a key elsewhere": {`{"kind": "title", "x": "y", "title": "z"}`, "z"},
		"white space":                     {" \n ", ""},
		"nothing":                         {"", ""},
	} {
		if got := about([]byte(test.data)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

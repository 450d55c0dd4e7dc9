package llm_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	key := func() (string, error) { return "", nil }
	const own = "https://api.example.com"
	tests := []struct {
		name   string
		driver llm.Driver
		opts   llm.Options
		url    string
		err    string
	}{
		{"no name", llm.Driver{Name: "d"}, llm.Options{}, "", "d client: no name"},
		{"no key", llm.Driver{Name: "d", BaseURL: own, Keyed: true}, llm.Options{Name: "x"}, "", "d client x: no API key"},
		{"none is needed", llm.Driver{Name: "d", BaseURL: own}, llm.Options{Name: "x"}, own, ""},
		{"a URL of one's own", llm.Driver{Name: "d", BaseURL: own, Keyed: true},
			llm.Options{Name: "x", APIKey: key, BaseURL: "http://localhost:8080/v1"}, "http://localhost:8080/v1", ""},
		{"no scheme", llm.Driver{Name: "d"}, llm.Options{Name: "x", BaseURL: "localhost:8080"}, "",
			"d client x: base_url is not an http or https URL"},
		{"no URL at all", llm.Driver{Name: "d"}, llm.Options{Name: "x"}, "", "d client x: base_url is not an http or https URL"},
		{"a URL with a credential", llm.Driver{Name: "d"}, llm.Options{Name: "x", BaseURL: "http://u:pa ss@h"}, "",
			"d client x: base_url is not an http or https URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			guard, err := llm.NewGuard(tt.driver, tt.opts)
			switch {
			case tt.err != "" && (err == nil || err.Error() != tt.err):
				t.Errorf("error = %v, want %q", err, tt.err)
			case tt.err == "" && (err != nil || guard.BaseURL != tt.url):
				t.Errorf("base URL = %q, error = %v; want %q", guard.BaseURL, err, tt.url)
			}
		})
	}
}

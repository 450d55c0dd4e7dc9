package llm_test

import (
	"context"
	"strings"
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

// TestOmissionsAreCutLast checks that no part of a key is left in the reason why a part of a request is omitted.
func TestOmissionsAreCutLast(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0123456789", 10)
	guard, err := llm.NewGuard(llm.Driver{Name: "d", BaseURL: "https://api.example.com"}, llm.Options{Name: "x",
		APIKey: func() (string, error) { return key, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for before := range 300 {
		why := strings.Repeat("x", before) + " " + key
		out, err := guard.Call(t.Context(), llm.Request{}, nil, func(context.Context, string, *llm.Idle, llm.OnDelta) (llm.Response, error) {
			return llm.Response{Omitted: []llm.Omission{{Why: why}}}, nil
		})
		if err != nil || len(out.Omitted) != 1 || strings.Contains(out.Omitted[0].Why, key[:4]) || len(out.Omitted[0].Why) > 300 {
			t.Errorf("the key after %d characters: %v, %v", before, out.Omitted, err)
		}
	}
}

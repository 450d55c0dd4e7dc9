package main

import (
	"io"
	"strings"
	"testing"
)

// On a terminal, what no flag has said is asked for; an empty line is the default.
func TestAsk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typed string
		flag  string // said already
		want  beginning
	}{
		"everything": {"ollama:llama3.1\ny\nhttp://p\nhttp://g\nyes\n", "", beginning{
			provider: "ollama:llama3.1", Kubernetes: true, Prometheus: "http://p", Loki: "http://g", GitHub: true}},
		"defaults":        {"\n\n\n\n\n", "", beginning{provider: defaultProvider}},
		"the end of file": {"", "", beginning{provider: defaultProvider}},
		"not what a flag": {"y\nhttp://p\n\n\n", "provider", beginning{provider: defaultProvider, Kubernetes: true, Prometheus: "http://p"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := beginning{provider: defaultProvider}
			got.ask(&cli{in: strings.NewReader(tc.typed), err: io.Discard}, func(flag string) bool { return flag == tc.flag })
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

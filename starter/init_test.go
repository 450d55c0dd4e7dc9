package main

import (
	"context"
	"errors"
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
		fails bool
	}{
		"everything": {"ollama:llama3.1\ny\nhttp://p\nhttp://g\nyes\n", "", beginning{
			provider: "ollama:llama3.1", Kubernetes: true, Prometheus: "http://p", Loki: "http://g", GitHub: true}, false},
		"defaults":        {"\n\n\n\n\n", "", beginning{provider: defaultProvider}, false},
		"the end of file": {"\n\n\n\n", "", beginning{provider: defaultProvider}, true},
		"not what a flag": {"y\nhttp://p\n\n\n", "provider", beginning{provider: defaultProvider, Kubernetes: true, Prometheus: "http://p"},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := beginning{provider: defaultProvider}
			c := &cli{in: strings.NewReader(tc.typed), err: io.Discard}
			err := got.ask(t.Context(), c, func(flag string) bool { return flag == tc.flag })
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// Ctrl-C is no answer: nothing is asked any more, and nothing is written.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	typed, typing := io.Pipe()
	defer typing.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var said strings.Builder
	var b beginning
	err := b.ask(ctx, &cli{in: typed, err: &said}, func(string) bool { return false })
	if !errors.Is(err, context.Canceled) || strings.Count(said.String(), "[") != 1 || !strings.Contains(said.String(), "Nothing is written") {
		t.Errorf("%v: %s", err, &said)
	}
}

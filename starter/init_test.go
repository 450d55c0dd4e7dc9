package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/config"
)

// On a terminal, init asks for everything that no flag gives until the answer is acceptable. An empty line means the default.
func TestAsk(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for path, text := range map[string]string{
		".kube/config": "current-context: kind-shop\n",
		".config/Claude/claude_desktop_config.json": `{"mcpServers":{"files":{"command":"files"}}}`,
	} {
		path := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		typed []string
		said  []string // flags
		want  beginning
		tells string
		fails bool
	}{
		"everything": {[]string{"5", "2", "y", "http://p", "http://g", "yes", "n"}, nil, beginning{
			provider: "ollama:qwen3", Kubernetes: true, Prometheus: "http://p", Loki: "http://g", GitHub: true}, "kind-shop", false},
		"defaults": {[]string{"", "", "", "", "", "", ""}, nil, beginning{provider: defaultProvider}, "[y/N]", false},
		"by name": {[]string{"claude", "claude-opus-5-5", "", "", "", "", ""}, nil,
			beginning{provider: "anthropic:claude-opus-5-5"}, "Anthropic", false},
		"type and model": {[]string{"google:gemini-2.5-pro", "", "", "", "", ""}, nil, beginning{provider: "google:gemini-2.5-pro"}, "", false},
		"another server": {[]string{"6", "localhost:8000", "http://localhost:8000/v1", "", "qwen", "", "", "", "", ""}, nil,
			beginning{provider: "openai:qwen", BaseURL: "http://localhost:8000/v1"}, "a URL begins with http://", false},
		"wrong answers": {[]string{"9", "nobody:x", "clippy", "2", "7", "1", "maybe", "y", "localhost:9090", "http://u:p@h",
			"http://h", "", "", ""}, nil,
			beginning{provider: "anthropic:claude-sonnet-5-5", Kubernetes: true, Prometheus: "http://h"}, "please answer y or n", false},
		"the end of file": {[]string{"1", "", ""}, nil, beginning{provider: defaultProvider}, "", true},
		"not what a flag says": {[]string{"y", "http://p", "", "", ""}, []string{"provider"},
			beginning{provider: defaultProvider, Kubernetes: true, Prometheus: "http://p"}, "", false},
		"an import": {[]string{"y"}, []string{"provider", "kubernetes", "prometheus", "loki", "github"},
			beginning{provider: defaultProvider, Imported: &imported{}}, "claude_desktop_config.json", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := beginning{provider: defaultProvider}
			var said strings.Builder
			c := &cli{in: strings.NewReader(strings.Join(tc.typed, "\n") + "\n"), err: &said, getenv: func(name string) string {
				return map[string]string{"HOME": home}[name]
			}}
			err := got.ask(c.questions(t.Context()), func(flag string) bool { return slices.Contains(tc.said, flag) })
			if (got.Imported == nil) != (tc.want.Imported == nil) {
				t.Errorf("imported: %+v", got.Imported)
			}
			got.Imported, tc.want.Imported = nil, nil
			if got != tc.want || (err != nil) != tc.fails || !strings.Contains(said.String(), tc.tells) {
				t.Errorf("got %+v, %v, want %+v\n%s", got, err, tc.want, &said)
			}
		})
	}
}

// After Ctrl-C, nothing more is asked and nothing is written.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	typed, typing := io.Pipe()
	defer typing.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var said strings.Builder
	var b beginning
	c := &cli{in: typed, err: &said, getenv: func(string) string { return "" }}
	err := b.ask(c.questions(ctx), func(string) bool { return false })
	if asked := strings.Count(said.String(), "]: "); !errors.Is(err, context.Canceled) || asked != 1 ||
		!strings.Contains(said.String(), "Nothing was changed") {
		t.Errorf("%v: %s", err, &said)
	}
}

// All wrong flags are reported at once, before anything is asked or written.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"--provider anthropic --prometheus localhost:9090": {"such as anthropic:claude-sonnet-5-5", "--prometheus: a URL begins with http://"},
		"--provider clippy:1 --loki http://u:p@h":          {`provider "clippy:1"`, "--loki: a user or a password"},
		"--provider ollama:m --base-url http://h/v1":       {"--base-url: only a provider of type openai"},
	} {
		dir := filepath.Join(t.TempDir(), "inquest")
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"init", dir, "--yes"}, strings.Fields(args)...),
			cli{out: &out, err: &errs, getenv: func(string) string { return "" }})
		for _, text := range want {
			if code != 2 || !strings.Contains(errs.String(), text) {
				t.Errorf("%s: exit code %d, without %q:\n%s", args, code, text, &errs)
			}
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: %s was made", args, dir)
		}
	}
}

// Every offered model gives a valid configuration with the model's own prices.
func TestInitOffers(t *testing.T) {
	t.Parallel()
	for _, o := range offers {
		for _, model := range o.models {
			dir := filepath.Join(t.TempDir(), "inquest")
			var out strings.Builder
			c := cli{out: &out, err: &out, getenv: func(string) string { return "" }}
			if code := run(t.Context(), []string{"init", dir, "--yes", "--provider", o.providerType + ":" + model}, c); code != 0 {
				t.Errorf("%s:%s: exit code %d\n%s", o.providerType, model, code, &out)
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, "inquest.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			prices, unlisted := config.ListPrices(o.providerType, model), o.providerType == "ollama" || o.providerType == "xai"
			if !unlisted && (prices == "" || !strings.Contains(string(text), "# prices: "+prices)) {
				t.Errorf("%s:%s has not its prices %q:\n%s", o.providerType, model, prices, text)
			}
		}
	}
}

package configure

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
)

// init writes the versions that the examples were tested with (test/e2e).
func TestInitPinsWhatTheExamplesDo(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../../../examples/kind-scripted/inquest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubernetes", "prometheus"} {
		if p, _ := pack.Named(name); p.NPM == "" || !strings.Contains(string(example), p.NPM) {
			t.Errorf("the example has another version than %q", p.NPM)
		}
	}
}

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
		"everything": {[]string{"5", "2", "kubernetes, 13,loki github", "http://p", "http://g", "n"}, nil, beginning{
			provider: "ollama:qwen3", packs: chosenPacks{[]string{"kubernetes", "prometheus", "loki", "github"},
				map[string]string{"PROMETHEUS_URL": "http://p", "GRAFANA_URL": "http://g"}}}, "(context kind-shop)", false},
		"defaults": {[]string{"", "", "", ""}, nil, beginning{provider: defaultProvider}, "(empty: none)", false},
		"by name": {[]string{"claude", "claude-opus-5-5", "", ""}, nil,
			beginning{provider: "anthropic:claude-opus-5-5"}, "Anthropic", false},
		"type and model": {[]string{"google:gemini-2.5-pro", "", ""}, nil, beginning{provider: "google:gemini-2.5-pro"}, "", false},
		"another server": {[]string{"6", "localhost:8000", "http://localhost:8000/v1", "", "qwen", "", ""}, nil,
			beginning{provider: "openai:qwen", BaseURL: "http://localhost:8000/v1"}, "expected a URL that begins", false},
		"wrong answers": {[]string{"9", "nobody:x", "clippy", "2", "7", "1", "kubernetes,99", "promotheus", "prometheus",
			"localhost:9090", "http://u:p@h", "http://h", "maybe", ""}, nil,
			beginning{provider: "anthropic:claude-sonnet-5-5", packs: chosenPacks{[]string{"prometheus"},
				map[string]string{"PROMETHEUS_URL": "http://h"}}}, "\"promotheus\": enter numbers from 1 to 14, or names: aws,", false},
		"an address from the environment": {[]string{"", "", "prometheus", "", ""}, nil,
			beginning{provider: defaultProvider, packs: chosenPacks{names: []string{"prometheus"}}},
			"(leave empty to use the variable PROMETHEUS_URL)", false},
		"the end of file": {[]string{"1", "", ""}, nil, beginning{provider: defaultProvider}, "", true},
		"not what a flag says": {[]string{"prometheus", "http://p", ""}, []string{"provider"},
			beginning{provider: defaultProvider, packs: chosenPacks{[]string{"prometheus"},
				map[string]string{"PROMETHEUS_URL": "http://p"}}}, "", false},
		"an import": {[]string{"", "y"}, []string{"provider"},
			beginning{provider: defaultProvider, Imported: &imported{}}, "claude_desktop_config.json", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := beginning{provider: defaultProvider}
			var said strings.Builder
			c := &base.CLI{In: strings.NewReader(strings.Join(tc.typed, "\n") + "\n"), Err: &said, Getenv: func(name string) string {
				return map[string]string{"HOME": home}[name]
			}}
			err := got.ask(t.Context(), c.Questions(t.Context()), func(flag string) bool { return slices.Contains(tc.said, flag) })
			if (got.Imported == nil) != (tc.want.Imported == nil) {
				t.Errorf("imported: %+v", got.Imported)
			}
			got.Imported, tc.want.Imported = nil, nil
			if !reflect.DeepEqual(got, tc.want) || (err != nil) != tc.fails || !strings.Contains(said.String(), tc.tells) {
				t.Errorf("got %+v, %v, want %+v\n%s", got, err, tc.want, &said)
			}
		})
	}
}

// The answers as a command give the same answers.
func TestAnswersAsACommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "my servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"lab":{"url":"http://lab"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := beginning{Dir: "ops", provider: "openai:qwen", BaseURL: "http://h/v1", packs: chosenPacks{[]string{"prometheus", "loki"},
		map[string]string{"PROMETHEUS_URL": "http://p", "GRAFANA_URL": "http://g"}}}
	if err := b.check(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	want := "starter init ops --yes --provider openai:qwen --base-url http://h/v1 --pack prometheus,loki " +
		"--prometheus http://p --loki http://g --from '" + file + "'"
	for range 100 {
		if got := b.flags(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
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
	c := &base.CLI{In: typed, Err: &said, Getenv: func(string) string { return "" }}
	err := b.ask(ctx, c.Questions(ctx), func(string) bool { return false })
	if asked := strings.Count(said.String(), "]: "); !errors.Is(err, context.Canceled) || asked != 1 ||
		!strings.Contains(said.String(), "Nothing was changed") {
		t.Errorf("%v: %s", err, &said)
	}
}

// Every offered model gives a valid configuration with the model's own prices.
func TestInitOffers(t *testing.T) {
	t.Parallel()
	for _, o := range offers {
		for _, model := range o.models {
			dir := filepath.Join(t.TempDir(), "inquest")
			var out strings.Builder
			cmd := NewInit(&base.CLI{Out: &out, Err: &out, Getenv: func(string) string { return "" }})
			cmd.SetArgs([]string{dir, "--yes", "--provider", o.providerType + ":" + model})
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Errorf("%s:%s: %v\n%s", o.providerType, model, err, &out)
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, "inquest.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			prices, unlisted := configuration.ListPrices(o.providerType, model), o.providerType == "ollama" || o.providerType == "xai"
			if !unlisted && (prices == "" || !strings.Contains(string(text), "# prices: "+prices)) {
				t.Errorf("%s:%s has not its prices %q:\n%s", o.providerType, model, prices, text)
			}
		}
	}
}

// The next commands are in an order that works, and begin with the variables that are not set. No value is printed.
func TestNext(t *testing.T) {
	t.Parallel()
	set := map[string]string{"GITHUB_TOKEN": "hunter2"}
	for name, tt := range map[string]struct {
		b       beginning
		exports string
	}{
		"a key":  {beginning{Dir: "d", provider: "anthropic:claude-opus-5-5"}, "  export ANTHROPIC_API_KEY=…\n"},
		"no key": {beginning{Dir: "d", provider: "ollama:qwen3"}, ""},
		"packs": {beginning{Dir: "d", provider: "ollama:qwen3", packs: chosenPacks{[]string{"github", "prometheus", "grafana"},
			map[string]string{"PROMETHEUS_URL": "http://p"}}}, "  export GRAFANA_URL=… GRAFANA_SERVICE_ACCOUNT_TOKEN=…\n"},
		"an import": {beginning{Dir: "d", provider: "ollama:qwen3", Imported: &imported{
			used: []string{"B", "A"}, variables: map[string]string{"B": "hunter2"}}}, "  export A=…\n"},
	} {
		got := tt.b.next(func(name string) string { return set[name] })
		starter, dev := commandLine(starterProgram()), commandLine(devProgram())
		want := tt.exports + "  " + starter + " validate --strict d\n  " + dev + " --config d\nand in another terminal:\n" +
			tt.exports + "  " + starter + " doctor --config d --wait 1m\n  " + starter + " run --alert-type alert --data @d/alert.json\n"
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

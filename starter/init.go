package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/command"
)

// firstConfig is the template of the file that init writes.
//
//go:embed init.yaml
var firstConfig string

// beginning holds the answers that init needs for a configuration.
type beginning struct {
	Dir                string
	provider           string // type:model
	BaseURL            string // of a server with an OpenAI-compatible API; empty means the type's default
	Kubernetes, GitHub bool
	Prometheus, Loki   string // URLs; empty means none
	Imported           *imported
}

// offer is a provider that init offers, with some current models, the recommended one first.
type offer struct {
	providerType, title string
	models              []string
}

var offers = []offer{
	{"openai", "OpenAI", []string{"gpt-6.1-terra", "gpt-6.2-sol", "gpt-6-luna", "gpt-4o-mini"}},
	{"anthropic", "Anthropic (Claude)", []string{"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"}},
	{"google", "Google (Gemini)", []string{"gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash-lite"}},
	{"xai", "xAI (Grok)", []string{"grok-4"}},
	{"ollama", "Ollama on this host (no key)", []string{"llama3.1", "qwen3", "gpt-oss:20b"}},
}

const defaultProvider = "openai:gpt-6.1-terra"

// firstAlert is an alert for the first investigation that makes sense everywhere.
const firstAlert = `{
  "alert": "FirstLook",
  "severity": "info",
  "summary": "Is anything unhealthy right now? Look for failing workloads, targets that are down, and errors that have just begun."
}
`

func initCommand(c *cli) *cobra.Command {
	var b beginning
	var yes, try bool
	var from string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first configuration",
		Long: `Write a first configuration into DIR (default: inquest): a model, MCP servers for what
you name, agents that use them, a chain for alerts, and an alert to try it with. Its agents
only read. --from adds the servers of an MCP client's file (claude_desktop_config.json,
.mcp.json, VS Code's mcp.json); their secrets go into DIR/.env, and variables stand for
them. On a terminal, init asks for what the flags leave open. It never overwrites a file.
--try starts an investigation of that alert at once, in a system of its own, and shows it.`,
		Example: `  starter init --provider openai:gpt-6.1-terra --kubernetes --yes \
    --prometheus http://localhost:9090
  starter init ops --provider ollama:llama3.1 --github \
    --loki http://localhost:3000
  starter init desktop --from claude_desktop_config.json --yes --try`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Dir = cmp.Or(first(args), "inquest")
			if err := b.check(from); err != nil {
				return err
			}
			if c.typed() && !yes {
				if err := b.ask(c.questions(cmd.Context()), cmd.Flags().Changed); err != nil {
					return err
				}
			}
			if err := b.write(c); err != nil || !try {
				return err
			}
			return b.try(cmd.Context(), c)
		},
	}
	set := cmd.Flags()
	set.StringVar(&b.provider, "provider", defaultProvider, "the model of all agents, type:model")
	set.StringVar(&b.BaseURL, "base-url", "", "URL of a server with OpenAI's API (vLLM, LM Studio, LiteLLM), for --provider openai:MODEL")
	set.BoolVar(&b.Kubernetes, "kubernetes", false, "look into the cluster of your kubeconfig (needs npx)")
	set.StringVar(&b.Prometheus, "prometheus", "", "URL of a Prometheus (needs npx)")
	set.StringVar(&b.Loki, "loki", "", "URL of the Grafana that has your Loki (needs mcp-grafana)")
	set.BoolVar(&b.GitHub, "github", false, "look into GitHub, with the token in GITHUB_TOKEN")
	set.StringVar(&from, "from", "", "a file of an MCP client, whose servers are imported")
	set.BoolVar(&yes, "yes", false, "ask nothing: flags and defaults")
	set.BoolVar(&try, "try", false, "then start an investigation and show it (needs the program dev)")
	return cmd
}

// check refuses a folder in use and wrong flags before init asks anything.
func (b *beginning) check(from string) (err error) {
	there, _ := os.ReadDir(b.Dir) // a folder that cannot be read cannot be written either
	for _, file := range there {
		if ext := filepath.Ext(file.Name()); ext == ".yaml" || ext == ".yml" {
			return usagef("%s already exists: remove it, or name another folder: starter init DIR", filepath.Join(b.Dir, file.Name()))
		}
	}
	all := []error{knownModel(b.provider)}
	for _, flag := range []struct{ name, address string }{
		{"base-url", b.BaseURL}, {"prometheus", b.Prometheus}, {"loki", b.Loki},
	} {
		if err := webAddress(flag.address); err != nil {
			all = append(all, fmt.Errorf("--%s: %w", flag.name, err))
		}
	}
	if b.BaseURL != "" && b.Type() != "openai" {
		all = append(all, errors.New("--base-url: only a provider of type openai, such as --provider openai:MODEL, has one"))
	}
	if from != "" {
		b.Imported, err = readClientFile(from)
		all = append(all, err)
	}
	if err := errors.Join(all...); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// knownModel refuses everything but type:model with a known type.
func knownModel(provider string) error {
	name, model, _ := strings.Cut(provider, ":")
	var names []string
	for _, o := range offers {
		names = append(names, o.providerType)
		if o.providerType == name && model == "" {
			return fmt.Errorf("provider %s has no default model: add one, such as %s:%s", name, name, o.models[0])
		}
	}
	if model == "" || !config.KnownProviderType(name) {
		return fmt.Errorf("provider %q: expected TYPE:MODEL, such as %s; types are %s, and those in docs/reference/config.md",
			provider, defaultProvider, strings.Join(names, ", "))
	}
	return nil
}

// Folder returns the configuration folder, quoted for a shell.
func (b beginning) Folder() string { return command.ShellWord(b.Dir) }

// Type returns the provider type.
func (b beginning) Type() string {
	name, _, _ := strings.Cut(b.provider, ":")
	return name
}

// Model returns the provider's name of the model.
func (b beginning) Model() string {
	_, model, _ := strings.Cut(b.provider, ":")
	return model
}

// KeyVariable returns the environment variable with the provider's key. An empty string means that no key is needed.
func (b beginning) KeyVariable() string {
	if b.BaseURL != "" { // it is unknown whether that server needs a key
		return ""
	}
	return config.KeyVariable(b.Type())
}

// Prices returns the model's list prices as a line of YAML. An empty string means that they are unknown.
func (b beginning) Prices() string {
	if b.BaseURL != "" {
		return ""
	}
	return config.ListPrices(b.Type(), b.Model())
}

// PricesAsOf returns the date of Prices.
func (b beginning) PricesAsOf() string { return config.PricesAsOf }

// Local reports whether the model is free of charge.
func (b beginning) Local() bool { return b.Type() == "ollama" || b.BaseURL != "" }

// Servers reports whether there are MCP servers.
func (b beginning) Servers() bool {
	return b.Kubernetes || b.GitHub || b.Prometheus != "" || b.Loki != "" || b.Imported != nil
}

// write writes the configuration, unless there is one already or validate would refuse it.
func (b beginning) write(c *cli) error {
	if _, err := os.Lstat(filepath.Join(b.Dir, ".env")); err == nil && b.Imported != nil {
		return usagef("%s already exists, and the imported secrets belong there: name another folder", filepath.Join(b.Dir, ".env"))
	}
	var text strings.Builder
	if err := template.Must(template.New("").Parse(firstConfig)).Execute(&text, b); err != nil {
		return err
	}
	trial, err := os.MkdirTemp("", "inquest-init")
	if err != nil {
		return err
	}
	defer os.RemoveAll(trial)
	if err := os.WriteFile(filepath.Join(trial, "inquest.yaml"), []byte(text.String()), 0o600); err != nil {
		return err
	}
	secrets, err := b.Imported.dotenv(trial)
	if err != nil {
		return err
	}
	src, err := c.source()
	if err != nil {
		return err
	}
	src.Dir = trial
	if _, findings := config.Check(src); findings.Failed() {
		return usagef("the configuration would be refused:\n%w\nThe answers were: %s", findings, b.flags())
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return usagef("%w", err)
	}
	path := filepath.Join(b.Dir, "inquest.yaml")
	if err := createFile(path, text.String(), 0o644); err != nil {
		return err
	}
	if err := createFile(b.alert(), firstAlert, 0o644); err != nil && !errors.Is(err, os.ErrExist) { // an existing alert is as good
		return err
	}
	if err := b.Imported.finish(c, b.Dir, secrets); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, `%s is written. Next:
  starter validate --strict %[2]s
  starter doctor --config %[2]s
  %[3]s --config %[2]s
and in another terminal:
  starter run --alert-type alert --data @%[4]s
`, path, b.Folder(), strings.Join(devProgram(), " "), command.ShellWord(b.alert()))
	return err
}

// createFile writes a new file and fails if it exists.
func createFile(path, text string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return usagef("%w", err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (b beginning) alert() string { return filepath.Join(b.Dir, "alert.json") }

// flags returns the answers as a command line.
func (b beginning) flags() string {
	words := []string{"starter", "init", b.Dir, "--yes", "--provider", b.provider}
	for _, text := range []struct{ flag, value string }{
		{"--base-url", b.BaseURL}, {"--prometheus", b.Prometheus}, {"--loki", b.Loki},
	} {
		if text.value != "" {
			words = append(words, text.flag, text.value)
		}
	}
	for flag, set := range map[string]bool{"--kubernetes": b.Kubernetes, "--github": b.GitHub} {
		if set {
			words = append(words, flag)
		}
	}
	return commandLine(words)
}

// commandLine quotes a command for a shell.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = command.ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

package configure

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// firstConfig is the template of the file that init writes.
//
//go:embed init.yaml
var firstConfig string

// beginning holds the answers that init needs for a configuration.
type beginning struct {
	Dir      string
	provider string // type:model
	BaseURL  string // of a server with an OpenAI-compatible API; empty means the type's default
	packs    chosenPacks
	Imported *imported
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

// firstAlert is an alert that makes sense everywhere, for a first investigation.
const firstAlert = `{
  "alert": "FirstLook",
  "severity": "info",
  "summary": "Is anything unhealthy right now? Look for failing workloads, targets that are down, and errors that have just begun."
}
`

// NewInit returns the command init.
func NewInit(c *base.CLI) *cobra.Command {
	var b beginning
	var yes, try bool
	var from string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first configuration",
		Long: `Write a first configuration to DIR (default: inquest): a model, MCP servers for the
systems that you choose (--pack), agents that use them, a chain for alerts, and a test
alert. The agents are read-only. --from adds the servers in an MCP client's configuration
(claude_desktop_config.json, .mcp.json, VS Code's mcp.json); their secrets go to DIR/.env
and are replaced by variables. In a terminal, init asks for whatever the flags leave out.
It never overwrites a file. --try then starts a temporary system, investigates the test
alert, and shows the investigation.`,
		Example: `  starter init --provider openai:gpt-6.1-terra --pack kubernetes --yes \
    --prometheus http://localhost:9090
  starter init ops --provider ollama:llama3.1 --pack github,loki,pagerduty
  starter init desktop --from claude_desktop_config.json --yes --try`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Dir = cmp.Or(base.First(args), "inquest")
			if err := b.check(cmd.Context(), from); err != nil {
				return err
			}
			if c.Typed() && !yes {
				if err := b.ask(cmd.Context(), c.Questions(cmd.Context()), cmd.Flags().Changed); err != nil {
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
	set.StringVar(&b.provider, "provider", defaultProvider, "the model for all agents, as TYPE:MODEL")
	set.StringVar(&b.BaseURL, "base-url", "", "URL of an OpenAI-compatible server (vLLM, LM Studio, LiteLLM), for --provider openai:MODEL")
	b.packs.flags(set)
	set.StringVar(&from, "from", "", "import the servers from this MCP client configuration file")
	set.BoolVar(&yes, "yes", false, "ask no questions; use the flags and defaults")
	set.BoolVar(&try, "try", false, "investigate the test alert in a temporary system, with the program dev")
	return cmd
}

// check rejects a used folder and invalid flags before init asks anything.
func (b *beginning) check(ctx context.Context, from string) (err error) {
	there, _ := os.ReadDir(b.Dir) // a folder that cannot be read cannot be written either
	for _, file := range there {
		if ext := filepath.Ext(file.Name()); ext == ".yaml" || ext == ".yml" {
			return base.Usagef("%s already exists: remove it, or name another folder: starter init DIR", filepath.Join(b.Dir, file.Name()))
		}
	}
	all := []error{knownModel(b.provider), b.packs.check()}
	if err := base.WebAddress(b.BaseURL); err != nil {
		all = append(all, fmt.Errorf("--base-url: %w", err))
	}
	if b.BaseURL != "" && b.Type() != "openai" {
		all = append(all, errors.New("--base-url needs a provider of type openai, such as --provider openai:MODEL"))
	}
	if from != "" {
		b.Imported, err = readClientFile(ctx, from)
		all = append(all, err)
	}
	if err := errors.Join(all...); err != nil {
		return base.Usagef("%w", err)
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
	if model == "" || !configuration.KnownProviderType(name) {
		return fmt.Errorf("provider %q: expected TYPE:MODEL, such as %s; available types: %s, and more in docs/reference/config.md",
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

// Model returns the provider's name for the model.
func (b beginning) Model() string {
	_, model, _ := strings.Cut(b.provider, ":")
	return model
}

// KeyVariable returns the environment variable with the provider's key. An empty string means that no key is needed.
func (b beginning) KeyVariable() string {
	if b.BaseURL != "" { // it is unknown whether that server needs a key
		return ""
	}
	return configuration.KeyVariable(b.Type())
}

// Prices returns the model's list prices as a line of YAML. An empty string means that they are unknown.
func (b beginning) Prices() string {
	if b.BaseURL != "" {
		return ""
	}
	return configuration.ListPrices(b.Type(), b.Model())
}

// PricesAsOf returns the date of Prices.
func (b beginning) PricesAsOf() string { return configuration.PricesAsOf }

// Local reports whether the model is free of charge.
func (b beginning) Local() bool { return b.Type() == "ollama" || b.BaseURL != "" }

// Servers returns the entries of mcp_servers: those of packs, and those of an MCP client's file.
func (b beginning) Servers() []serverEntry {
	all := b.packs.servers()
	if b.Imported != nil {
		all = append(all, b.Imported.Servers...)
	}
	return all
}

// Agents returns the agents that use the servers.
func (b beginning) Agents() []agentEntry {
	all := b.packs.agents()
	if b.Imported != nil {
		tools := agentEntry{Name: "ToolsAgent", Description: "Investigates an alert with the tools of the imported MCP servers."}
		for _, s := range b.Imported.Servers {
			tools.Servers = append(tools.Servers, s.Name)
		}
		all = append(all, tools)
	}
	return all
}

// write writes the configuration, unless there is one already or validate would refuse it.
func (b beginning) write(c *base.CLI) error {
	if _, err := os.Lstat(filepath.Join(b.Dir, ".env")); err == nil && b.Imported != nil {
		return base.Usagef("%s already exists, and the imported secrets would be written there: name another folder",
			filepath.Join(b.Dir, ".env"))
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
	src, err := c.Source()
	if err != nil {
		return err
	}
	src.Dir = trial
	cfg, findings := configuration.Check(src)
	if findings.Failed() {
		return base.Usagef("the resulting configuration is not valid:\n%w\nYour answers as a command: %s", findings, b.flags())
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return base.Usagef("%w", err)
	}
	path := filepath.Join(b.Dir, "inquest.yaml")
	if err := createFile(path, text.String(), 0o644); err != nil {
		return err
	}
	if err := createFile(b.alert(), firstAlert, 0o644); err != nil && !errors.Is(err, os.ErrExist) { // an existing alert will do
		return err
	}
	if err := b.Imported.finish(c, b.Dir, secrets); err != nil {
		return err
	}
	for _, f := range configuration.Toolless(cfg) {
		c.Say("%s", f)
	}
	_, err = fmt.Fprint(c.Out, "Created "+path+". Next:\n"+b.next(c.Getenv))
	return err
}

// next returns the next commands, in an order that works: doctor needs the system that dev starts.
func (b beginning) next(getenv func(string) string) string {
	var exports string
	for _, name := range b.variables() {
		if getenv(name) == "" {
			exports += " " + name + "=…"
		}
	}
	if exports != "" {
		exports = "  export" + exports + "\n"
	}
	starter, folder := commandLine(starterProgram()), b.Folder()
	return fmt.Sprintf(`%[1]s  %[2]s validate --strict %[3]s
  %[4]s --config %[3]s
and in another terminal:
%[1]s  %[2]s doctor --config %[3]s --wait 1m
  %[2]s run --alert-type alert --data @%[5]s
`, exports, starter, folder, commandLine(devProgram()), command.ShellWord(b.alert()))
}

// variables returns the environment variables that the configuration needs, without those in its .env file.
func (b beginning) variables() (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(b.KeyVariable())
	for _, name := range b.packs.variables() {
		add(name)
	}
	if b.Imported != nil {
		for _, name := range b.Imported.asked() {
			add(name)
		}
	}
	return names
}

// createFile writes a new file and fails if it exists.
func createFile(path, text string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return base.Usagef("%w", err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (b beginning) alert() string { return filepath.Join(b.Dir, "alert.json") }

// flags returns the answers as a command line.
func (b beginning) flags() string {
	words := []string{"starter", "init", b.Dir, "--yes", "--provider", b.provider}
	if b.BaseURL != "" {
		words = append(words, "--base-url", b.BaseURL)
	}
	words = append(words, b.packs.words()...)
	if b.Imported != nil {
		words = append(words, "--from", b.Imported.file)
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

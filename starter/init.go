package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
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

// beginning is what init is told of a configuration.
type beginning struct {
	Dir                string
	provider           string // type:model
	Kubernetes, GitHub bool
	Prometheus, Loki   string // URLs; "" = none
	Imported           *imported
}

const defaultProvider = "openai:gpt-4o-mini"

func initCommand(c *cli) *cobra.Command {
	var b beginning
	var yes bool
	var from string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a configuration to begin with",
		Long: `Write a configuration to begin with into DIR (default: inquest): a model, MCP servers
for what you name, agents that use them, and a chain for alerts. Its agents only read.
--from adds the servers of an MCP client's file (claude_desktop_config.json, .mcp.json,
VS Code's mcp.json); their secrets go into DIR/.env, and variables stand for them.
On a terminal, it asks for what the flags leave open. What is there is never overwritten.`,
		Example: `  starter init --provider openai:gpt-4o-mini --kubernetes --yes \
    --prometheus http://localhost:9090
  starter init ops --provider ollama:llama3.1 --github \
    --loki http://localhost:3000
  starter init desktop --from claude_desktop_config.json --yes`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Dir = cmp.Or(first(args), "inquest")
			if from != "" {
				var err error
				if b.Imported, err = readClientFile(from); err != nil {
					return err
				}
			}
			if c.typed() && !yes {
				if err := b.ask(cmd.Context(), c, cmd.Flags().Changed); err != nil {
					return err
				}
			}
			return b.write(c)
		},
	}
	set := cmd.Flags()
	set.StringVar(&b.provider, "provider", defaultProvider, "the model of all agents, type:model")
	set.BoolVar(&b.Kubernetes, "kubernetes", false, "look into the cluster of your kubeconfig (needs npx)")
	set.StringVar(&b.Prometheus, "prometheus", "", "URL of a Prometheus (needs npx)")
	set.StringVar(&b.Loki, "loki", "", "URL of the Grafana that has your Loki (needs mcp-grafana)")
	set.BoolVar(&b.GitHub, "github", false, "look into GitHub, with the token in GITHUB_TOKEN")
	set.StringVar(&from, "from", "", "a file of an MCP client, whose servers are taken over")
	set.BoolVar(&yes, "yes", false, "ask nothing: flags and defaults")
	return cmd
}

// ask asks for what no flag has said.
func (b *beginning) ask(ctx context.Context, c *cli, said func(flag string) bool) (err error) {
	lines := make(chan string)
	go func() { // no reading of a terminal ends with Ctrl-C
		defer close(lines)
		for typed := bufio.NewScanner(c.in); typed.Scan(); {
			select {
			case lines <- typed.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	text := func(flag, question string, answer *string) {
		if err != nil || said(flag) {
			return
		}
		fmt.Fprintf(c.err, "%s [%s]: ", question, cmp.Or(*answer, "none"))
		select {
		case <-ctx.Done():
			c.say("\nNothing is written.")
			err = ctx.Err()
		case line, ok := <-lines:
			if !ok {
				err = usagef("the answers end too early: nothing is written (--yes asks nothing)")
			}
			*answer = cmp.Or(strings.TrimSpace(line), *answer)
		}
	}
	yesOrNo := func(flag, question string, answer *bool) {
		reply := "no"
		text(flag, question, &reply)
		if !said(flag) {
			*answer = strings.HasPrefix(strings.ToLower(reply), "y")
		}
	}
	text("provider", "Which model, as type:model", &b.provider)
	yesOrNo("kubernetes", "Look into the cluster of your kubeconfig (yes or no)", &b.Kubernetes)
	text("prometheus", "URL of your Prometheus", &b.Prometheus)
	text("loki", "URL of the Grafana that has your Loki", &b.Loki)
	yesOrNo("github", "Look into GitHub, with a token in GITHUB_TOKEN (yes or no)", &b.GitHub)
	return err
}

// Folder is where the configuration is, as it is typed.
func (b beginning) Folder() string { return command.ShellWord(b.Dir) }

// Type is that of the provider.
func (b beginning) Type() string {
	name, _, _ := strings.Cut(b.provider, ":")
	return name
}

// Model is the provider's name of the model.
func (b beginning) Model() string {
	_, model, _ := strings.Cut(b.provider, ":")
	return model
}

// KeyVariable is the variable that has the provider's key; "" = it needs none.
func (b beginning) KeyVariable() string { return config.KeyVariable(b.Type()) }

// Servers reports whether there are MCP servers.
func (b beginning) Servers() bool {
	return b.Kubernetes || b.GitHub || b.Prometheus != "" || b.Loki != "" || b.Imported != nil
}

// write writes the configuration, unless validate would refuse it or there is one.
func (b beginning) write(c *cli) error {
	there, _ := os.ReadDir(b.Dir) // if it cannot be read, it cannot be written
	for _, file := range there {
		if ext := filepath.Ext(file.Name()); ext == ".yaml" || ext == ".yml" {
			return usagef("%s is there already: name another folder", filepath.Join(b.Dir, file.Name()))
		}
		if file.Name() == ".env" && b.Imported != nil {
			return usagef("%s is there already: name another folder, for a .env with the secrets of the file", filepath.Join(b.Dir, file.Name()))
		}
	}
	for flag, address := range map[string]string{"prometheus": b.Prometheus, "loki": b.Loki} {
		if strings.Contains(address, "@") {
			return usagef("--%s: a user or a password would stand in the file: give the URL without it, and in the file then "+
				`"{{.NAME}}" for the URL: NAME is the variable of the worker's environment that has it`, flag)
		}
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
		return usagef("no configuration comes of this:\n%w", findings)
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return usagef("%w", err)
	}
	path := filepath.Join(b.Dir, "inquest.yaml")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return usagef("%w", err)
	}
	defer file.Close()
	if _, err := file.WriteString(text.String()); err != nil {
		return err
	}
	if err := b.Imported.finish(c, b.Dir, secrets); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s is written. Next:\n  starter validate --strict %[2]s\n  starter doctor --config %[2]s\n", path, b.Folder())
	return err
}

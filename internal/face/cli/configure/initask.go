package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// ask asks for everything that the flags leave open.
func (b *beginning) ask(ctx context.Context, q *base.Questions, said func(flag string) bool) error {
	if !said("provider") {
		b.askModel(q)
	}
	if len(b.packs.names) == 0 {
		b.packs.ask(ctx, q)
	}
	if !said("from") {
		b.askImport(ctx, q)
	}
	return q.Err
}

// askModel asks for the provider, then for its model.
func (b *beginning) askModel(q *base.Questions) {
	var titles []string
	for _, o := range offers {
		titles = append(titles, o.title)
	}
	titles = append(titles, "another OpenAI-compatible server (vLLM, LM Studio, LiteLLM)")
	byName := func(typed string) int {
		return slices.IndexFunc(offers, func(o offer) bool {
			return strings.Contains(strings.ToLower(o.title+" "+o.providerType), strings.ToLower(typed))
		})
	}
	n, typed := q.Choose("Which model provider?", titles, func(line string) error {
		if byName(line) < 0 {
			return knownModel(line)
		}
		return nil
	})
	if n < 0 && q.Err == nil {
		if n = byName(typed); n < 0 { // typed as type:model
			b.provider = typed
			return
		}
	}
	anyName := func(string) error { return nil }
	switch {
	case q.Err != nil:
	case n == len(offers):
		q.Text("URL of the server, such as http://localhost:8000/v1", &b.BaseURL, func(line string) error {
			if line == "" {
				return errors.New("enter a URL")
			}
			return base.WebAddress(line)
		})
		model := ""
		q.Text("Model name on the server", &model, func(line string) error {
			if line == "" {
				return errors.New("enter a model name")
			}
			return nil
		})
		b.provider = "openai:" + model
	default:
		models := offers[n].models
		m, name := q.Choose("Which model?", models, anyName)
		if m >= 0 {
			name = models[m]
		}
		b.provider = offers[n].providerType + ":" + name
	}
}

// askImport offers to import the servers in an MCP client's configuration file, if it finds one.
func (b *beginning) askImport(ctx context.Context, q *base.Questions) {
	path := clientFile(q.C.Getenv)
	if path == "" || q.Err != nil || !q.Yes(fmt.Sprintf("Import the MCP servers in %s?", path)) {
		return
	}
	var err error
	if b.Imported, err = readClientFile(ctx, path); err != nil {
		q.C.Say("  Not imported: %v", err)
	}
}

// clientFile finds an MCP client's configuration file in this folder or the user's home. An empty string means that there is none.
func clientFile(getenv func(string) string) string {
	home := getenv("HOME")
	for _, path := range []string{
		".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", // of the project
		filepath.Join(home, "Library/Application Support/Claude/claude_desktop_config.json"),
		filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "Claude/claude_desktop_config.json"),
		filepath.Join(getenv("APPDATA"), "Claude/claude_desktop_config.json"),
		filepath.Join(home, ".cursor/mcp.json"),
	} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

var currentContext = regexp.MustCompile(`(?m)^current-context:[ \t]*["']?([^"'#\s]+)`)

// kubeContext returns the current context in the user's kubeconfig. Like kubectl, it takes the context from the first file that names
// one. An empty string means that there is none.
func kubeContext(getenv func(string) string) string {
	for _, path := range filepath.SplitList(cmp.Or(getenv("KUBECONFIG"), filepath.Join(getenv("HOME"), ".kube", "config"))) {
		text, _ := os.ReadFile(path) // kubectl skips unreadable files too
		if found := currentContext.FindSubmatch(text); found != nil {
			return terminal.CleanLine(string(found[1]))
		}
	}
	return ""
}

package configure

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

var (
	snippet = regexp.MustCompile("(?ms)^( *)```yaml\n( *(?:# inquest.yaml\n)?(?:agent_chains|agents|defaults|fallback_lists|" +
		"llm_providers|mcp_servers|system):.*?)^ *```$")
	// elsewhere matches findings about names and variables that the reader defines.
	elsewhere = regexp.MustCompile(`^unknown [\w ]+ "|^no chain has the alert type |^variable \w+ is not set|: configure tokens `)
)

// Readers add the documents' blocks to the configuration that init writes. It stays valid with each block, and with all blocks of a page.
func TestDocumentsAddToInit(t *testing.T) {
	t.Parallel()
	var all int
	for _, folder := range []string{"", "how-to", "reference", "explanation"} {
		pages, err := filepath.Glob(filepath.Join("../../../../docs", folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			var blocks []string
			for _, found := range snippet.FindAllStringSubmatch(string(text), -1) {
				blocks = append(blocks, strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n")[1:])
			}
			for _, block := range blocks {
				checkWithInit(t, page, block)
			}
			if len(blocks) > 1 {
				checkWithInit(t, page, blocks...)
			}
			all += len(blocks)
		}
	}
	if all < 25 {
		t.Errorf("%d blocks were checked: does this test still find them?", all)
	}
}

var described = regexp.MustCompile(`\b(openai|anthropic|google|xai|ollama):([a-z]+-?[0-9][a-z0-9.-]*)`)

// The page about models names those that init offers.
func TestDocumentsNameOfferedModels(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/how-to/choose-a-model.md")
	if err != nil {
		t.Fatal(err)
	}
	all := described.FindAllStringSubmatch(string(text), -1)
	for _, m := range all {
		if !slices.ContainsFunc(offers, func(o offer) bool { return o.providerType == m[1] && slices.Contains(o.models, m[2]) }) {
			t.Errorf("init does not offer %s", m[0])
		}
	}
	if len(all) < 4 {
		t.Errorf("only these models were found: %v", all)
	}
}

// checkWithInit validates a configuration that init has written, with blocks that a reader has added.
func checkWithInit(t *testing.T, page string, blocks ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "inquest")
	var out strings.Builder
	cmd := NewInit(&base.CLI{Out: &out, Err: &out, Getenv: func(string) string { return "" }})
	cmd.SetArgs([]string{dir, "--yes", "--pack", "kubernetes,prometheus"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	path := filepath.Join(dir, "inquest.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := document(t, page, string(text))
	for _, block := range blocks {
		addTo(whole, document(t, page, block))
	}
	if text, err = yaml.Marshal(whole); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, findings := configuration.Check(configuration.Source{Dir: dir, SkipCredentials: true, Validating: true})
	for _, f := range findings {
		if !f.Accepted() && !elsewhere.MatchString(f.Message) {
			t.Errorf("%s: %s in\n%s", page, f, text)
		}
	}
}

func document(t *testing.T, page, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%s: %v in\n%s", page, err, text)
	}
	return doc.Content[0]
}

// addTo adds the keys of a block to those that are there. Values that are no mappings are replaced.
func addTo(there, block *yaml.Node) {
	for n := 0; n < len(block.Content); n += 2 {
		key, value := block.Content[n], block.Content[n+1]
		at := 0
		for at < len(there.Content) && there.Content[at].Value != key.Value {
			at += 2
		}
		switch {
		case at == len(there.Content):
			there.Content = append(there.Content, key, value)
		case value.Kind == yaml.MappingNode && there.Content[at+1].Kind == yaml.MappingNode:
			addTo(there.Content[at+1], value)
		default:
			there.Content[at+1] = value
		}
	}
}

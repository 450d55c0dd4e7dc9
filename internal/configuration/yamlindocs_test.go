package configuration

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/strict"
)

var (
	yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	// ownBlock matches blocks that are configurations of ours.
	ownBlock = regexp.MustCompile(`^(?:# inquest.yaml\n)?(?:agent_chains|agents|defaults|fallback_lists|llm_providers|mcp_servers|system):`)
	// missing matches findings about entries that a block leaves to the rest of a configuration.
	missing = regexp.MustCompile(`^unknown [\w ]+ "|^no chain has the alert type |^variable \w+ is not set|: configure tokens `)
)

// TestYAMLInDocuments checks the YAML blocks of the documents: each parses, and blocks of configuration are valid,
// apart from names and variables that they do not define.
func TestYAMLInDocuments(t *testing.T) {
	t.Parallel()
	var checked int
	for _, pattern := range []string{"*.md", "how-to/*.md", "reference/*.md", "explanation/*.md"} {
		pages, err := filepath.Glob("../../docs/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
				block := strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n")[1:]
				parse(t, page, block)
				if ownBlock.MatchString(block) {
					checked++
					checkBlock(t, page, block)
				}
			}
		}
	}
	if checked < 25 {
		t.Errorf("%d blocks were checked: does this test still find them?", checked)
	}
}

// parse checks that a block is YAML, which may have several documents.
func parse(t *testing.T, page, block string) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(block)); ; {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v in\n%s", page, err, block)
			return
		}
	}
}

// checkBlock checks a block as a configuration.
func checkBlock(t *testing.T, page, block string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "inquest.yaml"), []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	_, findings := Check(Source{Dir: dir, Env: lookupIn(baseEnv), SkipCredentials: true})
	for _, f := range findings {
		if (f.Severity == strict.SeverityError || f.Severity == strict.SeverityCritical) && !missing.MatchString(f.Message) {
			t.Errorf("%s: %s in\n%s", page, f, block)
		}
	}
}

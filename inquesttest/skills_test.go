package inquesttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
	"github.com/inquest-dev/inquest/internal/knowledge/skill"
)

// TestSkills has an agent load a skill and a file beside it. The required skill is in its prompt, and it cannot read anything else
// of the configuration's directory.
func TestSkills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "llm_providers: {p: {type: openai, model: gpt-4o}}\ndefaults: {llm_provider: p}\n" +
			"agents: {Clerk: {required_skills: [house]}}\nagent_chains: {c: {stages: [{name: s, agents: [{name: Clerk}]}]}}\n",
		"skills/house/SKILL.md":  "---\nname: house\ndescription: How we work.\n---\nName the customer.",
		"skills/db/SKILL.md":     "---\nname: db\ndescription: For slow queries.\n---\nRead sql/locks.md.",
		"skills/db/sql/locks.md": "select * from pg_locks",
		"skills/ledger/SKILL.md": "---\nname: ledger\ndescription: Of another project.\nmetadata: {projects: books}\n---\nAsk Ann.",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type args = map[string]any
	w := inquesttest.World{
		Options: inquest.Options{Config: dir},
		Script: []inquesttest.Rule{
			{Calls: []inquesttest.Call{{Tool: "load_skill", Arguments: args{"names": []string{"db", "ledger"}}}}},
			{Seen: "Unknown skill", Calls: []inquesttest.Call{
				{Tool: "read_skill_file", Arguments: args{"skill": "db", "path": "../../a.yaml"}},
				{Tool: "read_skill_file", Arguments: args{"skill": "db", "path": "sql/locks.md"}},
			}},
			{Seen: "pg_locks", Say: "A lock."},
		},
	}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "c", Data: "Orders are slow."})
	if err != nil || result.Status != "completed" || result.Report != "A lock." {
		t.Fatalf("%+v, %v", result, err)
	}
	first, last := result.Asked[0], result.Asked[len(result.Asked)-1]
	system := first.Messages[0].Content
	for text, want := range map[string]bool{
		"Name the customer.": true, "- db: For slow queries.": true, "Read sql/locks.md.": false, "ledger": false, "Ask Ann.": false,
	} {
		if strings.Contains(system, text) != want {
			t.Errorf("the prompt has %q: %t\n%s", text, !want, system)
		}
	}
	var offered, read []string
	for _, tool := range first.Tools {
		offered = append(offered, tool.Name)
	}
	if got := strings.Join(offered, " "); got != "load_skill read_skill_file read_result" {
		t.Errorf("tools: %s", got)
	}
	for _, m := range last.Messages {
		if m.Role == "tool" {
			read = append(read, m.Content)
		}
	}
	want := []string{"# Skill db\n\nRead sql/locks.md.\n\nFiles of this skill, for read_skill_file: sql/locks.md\n\nUnknown skill \"ledger\"",
		`Skill db has no file "../../a.yaml"`, "select * from pg_locks"}
	for i := range want {
		if len(read) != len(want) || !strings.Contains(read[i], want[i]) {
			t.Errorf("result %d: got %q, want %q", i, read, want[i])
		}
	}
	if strings.Contains(strings.Join(read, " "), "Ask Ann") || strings.Contains(strings.Join(read, " "), "llm_providers") {
		t.Errorf("read too much: %q", read)
	}
}

// TestPublicSkills has an agent use three skills that other people published: see SOURCE.txt beside them. They load without a warning,
// the prompt has their descriptions, and a file beside one is read.
func TestPublicSkills(t *testing.T) {
	t.Parallel()
	const public = "../internal/knowledge/skill/testdata/public"
	dir := t.TempDir()
	yaml := "llm_providers: {p: {type: openai, model: gpt-4o}}\ndefaults: {llm_provider: p}\n" +
		"agents: {Clerk: {required_skills: [electron]}}\nagent_chains: {c: {stages: [{name: s, agents: [{name: Clerk}]}]}}\n"
	err := os.CopyFS(dir, os.DirFS(public))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(yaml), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	skills, problems := skill.Read(dir)
	if len(skills) != 3 || len(problems) > 0 {
		t.Fatalf("%d skills, %v", len(skills), problems)
	}
	type args = map[string]any
	file := args{"skill": "memory-leak-debugging", "path": "references/common-leaks.md"}
	w := inquesttest.World{
		Options: inquest.Options{Config: dir},
		Script: []inquesttest.Rule{
			{Calls: []inquesttest.Call{{Tool: "load_skill", Arguments: args{"names": []string{"memory-leak-debugging", "playwright-cli"}}}}},
			{Seen: "# Memory Leak Debugging", Calls: []inquesttest.Call{{Tool: "read_skill_file", Arguments: file}}},
			{Seen: "Common Memory Leaks", Say: "A detached node."},
		},
	}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "c", Data: "The page grows."})
	if err != nil || result.Status != "completed" || result.Report != "A detached node." {
		t.Fatalf("%+v, %v", result, err)
	}
	system := result.Asked[0].Messages[0].Content
	for _, s := range skills {
		if required := s.Name == "electron"; !strings.Contains(system, "- "+s.Name+": "+s.Description) == !required {
			t.Errorf("the catalogue has %s: %t", s.Name, required)
		} else if required != strings.Contains(system, s.Text) {
			t.Errorf("the prompt has the text of %s: %t", s.Name, !required)
		}
	}
	last := result.Asked[len(result.Asked)-1]
	want, err := os.ReadFile(filepath.Join(public, "skills/memory-leak-debugging/references/common-leaks.md"))
	if read := last.Messages[len(last.Messages)-1].Content; err != nil || !strings.Contains(read, strings.TrimSpace(string(want))) {
		t.Errorf("the file was read as %q, %v", read, err)
	}
}

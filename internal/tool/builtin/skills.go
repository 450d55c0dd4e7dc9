package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

var (
	loadSkillSchema = json.RawMessage(`{"type":"object","properties":{
"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20,"description":"The names of the skills"}},
"required":["names"],"additionalProperties":false}`)
	readSkillFileSchema = json.RawMessage(`{"type":"object","properties":{
"skill":{"type":"string","description":"The name of the skill"},
"path":{"type":"string","description":"The path of the file in the skill's folder, such as references/queries.md"}},
"required":["skill","path"],"additionalProperties":false}`)
)

// Skills returns the tools that return an agent's skills, and the files beside them. Blob reads a text by its name. The tools
// know only the texts of the plan, so they cannot read any other file.
func Skills(skills []plan.Skill, blob func(ctx context.Context, name string) ([]byte, error)) []Tool {
	s := library{skills, blob}
	return []Tool{{
		Spec: tool.Spec{
			Name:        agent.ToolLoadSkill,
			Description: "Returns skills, which are instructions for kinds of tasks. Request all skills that you need in one call.",
			Schema:      loadSkillSchema, Risk: agent.RiskReadOnly,
		},
		Run: s.load,
	}, {
		Spec: tool.Spec{
			Name:        agent.ToolReadSkillFile,
			Description: "Returns a file that belongs to a skill.",
			Schema:      readSkillFileSchema, Risk: agent.RiskReadOnly,
		},
		Run: s.readFile,
	}}
}

type library struct {
	skills []plan.Skill
	blob   func(context.Context, string) ([]byte, error)
}

// load returns the skills that exist, with a note about the others. It fails if none exists.
func (l library) load(ctx context.Context, call tool.Call) tool.Result {
	var in struct {
		Names []string `json:"names"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(call.Arguments), &in); err != nil {
		return invalid("The arguments do not match the schema: %v", err)
	}
	var found, notes []string
	for n, name := range in.Names {
		name = strings.TrimSpace(name)
		s, ok := l.skill(name)
		switch {
		case slices.Contains(in.Names[:n], in.Names[n]):
		case !ok:
			notes = append(notes, l.unknown(name))
		case s.Required:
			notes = append(notes, fmt.Sprintf("Skill %s is in your instructions already.", s.Name))
		default:
			text, err := l.text(ctx, s, "")
			if err != nil {
				return missingSkill(err)
			}
			found = append(found, "# Skill "+s.Name+"\n\n"+text+files(s))
		}
	}
	if len(found) == 0 {
		return invalid("%s", strings.Join(notes, "\n"))
	}
	return tool.Success(strings.Join(append(found, notes...), "\n\n"))
}

func (l library) readFile(ctx context.Context, call tool.Call) tool.Result {
	var in struct {
		Skill string `json:"skill"`
		Path  string `json:"path"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(call.Arguments), &in); err != nil {
		return invalid("The arguments do not match the schema: %v", err)
	}
	s, ok := l.skill(strings.TrimSpace(in.Skill))
	if !ok {
		return invalid("%s", l.unknown(in.Skill))
	}
	at := path.Clean(strings.TrimSpace(in.Path))
	if !slices.Contains(s.Files(), at) {
		return invalid("Skill %s has no file %q%s", s.Name, named(in.Path), spell.Hint(at, s.Files()))
	}
	text, err := l.text(ctx, s, at)
	if err != nil {
		return missingSkill(err)
	}
	return tool.Success(text)
}

func (l library) skill(name string) (plan.Skill, bool) {
	n := slices.IndexFunc(l.skills, func(s plan.Skill) bool { return s.Name == name })
	if n < 0 {
		return plan.Skill{}, false
	}
	return l.skills[n], true
}

func (l library) unknown(name string) string {
	var names []string
	for _, s := range l.skills {
		names = append(names, s.Name)
	}
	return fmt.Sprintf("Unknown skill %q%s", named(name), spell.Hint(name, names))
}

func (l library) text(ctx context.Context, s plan.Skill, file string) (string, error) {
	data, err := l.blob(ctx, s.Blobs[file])
	if err != nil {
		return "", fmt.Errorf("skill %s: %w", s.Name, err)
	}
	return tool.ValidText(string(data)), nil
}

// files lists the files beside a skill, for the end of its text.
func files(s plan.Skill) string {
	if len(s.Files()) == 0 {
		return ""
	}
	return "\n\nFiles of this skill, for read_skill_file: " + strings.Join(s.Files(), ", ")
}

func missingSkill(err error) tool.Result {
	return tool.Failure(tool.ErrorUnavailable, "Skills are currently unavailable: "+err.Error())
}

func named(text string) string { return clip.Bytes(tool.ValidText(text), 100) }

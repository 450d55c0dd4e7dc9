package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

func TestSkills(t *testing.T) {
	t.Parallel()
	blobs := map[string]string{"db": "Check the pool.", "q": "select 1", "net": "Check DNS.", "k8s": "Check pods."}
	blob := func(_ context.Context, name string) ([]byte, error) {
		text, ok := blobs[name]
		if !ok {
			return nil, errors.New("gone")
		}
		return []byte(text), nil
	}
	skills := []plan.Skill{
		{Name: "k8s", Required: true, Blobs: map[string]string{"": "k8s"}},
		{Name: "db", Blobs: map[string]string{"": "db", "sql/q.md": "q"}},
		{Name: "net", Blobs: map[string]string{"": "net"}},
		{Name: "lost", Blobs: map[string]string{"": "?", "a.md": "?"}},
	}
	tools := Skills(skills, blob)
	for _, tt := range []struct{ tool, arguments, want, errorType string }{
		{agent.ToolLoadSkill, `{"names":["db"]}`, "# Skill db\n\nCheck the pool.\n\nFiles of this skill, for read_skill_file: sql/q.md", ""},
		{agent.ToolLoadSkill, `{"names":["net","lst","k8s","net"]}`, "# Skill net\n\nCheck DNS.\n\n" +
			`Unknown skill "lst"; did you mean "lost"?` + "\n\nSkill k8s is in your instructions already.", ""},
		{agent.ToolLoadSkill, `{"names":["redis"]}`, `Unknown skill "redis"; available: db, k8s, lost, net`, tool.ErrorInvalidArguments},
		{agent.ToolLoadSkill, `{"names":["lost"]}`, "Skills are currently unavailable: skill lost: gone", tool.ErrorUnavailable},
		{agent.ToolLoadSkill, `{"names":"db"}`, "", tool.ErrorInvalidArguments},
		{agent.ToolReadSkillFile, `{"skill":"db","path":"./sql/q.md"}`, "select 1", ""},
		{agent.ToolReadSkillFile, `{"skill":"db","path":"../net/SKILL.md"}`,
			`Skill db has no file "../net/SKILL.md"; available: sql/q.md`, tool.ErrorInvalidArguments},
		{agent.ToolReadSkillFile, `{"skill":"db","path":""}`, `Skill db has no file ""; available: sql/q.md`, tool.ErrorInvalidArguments},
		{agent.ToolReadSkillFile, `{"skill":"net","path":"/etc/passwd"}`, `Skill net has no file "/etc/passwd"`, tool.ErrorInvalidArguments},
		{agent.ToolReadSkillFile, `{"skill":"lost","path":"a.md"}`, "Skills are currently unavailable: skill lost: gone", tool.ErrorUnavailable},
	} {
		for _, made := range tools {
			if made.Spec.Name != tt.tool {
				continue
			}
			got := made.Run(t.Context(), tool.Call{Arguments: json.RawMessage(tt.arguments)})
			if got.ErrorType != tt.errorType || tt.want != "" && got.Content != tt.want {
				t.Errorf("%s %s: %+v, want %q", tt.tool, tt.arguments, got, tt.want)
			}
		}
	}
}

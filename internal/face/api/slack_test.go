package api

import (
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// People in Slack have their own grant and those of their groups. Approvers are known by name, groups and role, so the same rules for
// approvers apply as in the other faces.
func TestSlackUsers(t *testing.T) {
	t.Parallel()
	groups := map[string]config.Grant{
		"sre": {Role: config.RoleApprover, Projects: []string{"shop"}}, "all": {Role: config.RoleAdmin, Projects: []string{"*"}},
	}
	ada := config.SlackUser{Groups: []string{"sre", "on-call"}, Grant: config.Grant{Role: config.RoleOperator, Projects: []string{"search"}}}
	who := accessOf(asSlackUser(t.Context(), "ada", ada, groups))
	for project, want := range map[string]string{"shop": config.RoleApprover, "search": config.RoleOperator, "payments": ""} {
		got := who.checked(project)
		if got.Name != "ada" || got.Channel != agent.ChannelSlack || who.rank(project) != rank[want] ||
			want != "" && !slices.Contains(got.Groups, want) || !slices.Contains(got.Groups, "on-call") {
			t.Errorf("%s: %+v with rank %d", project, got, who.rank(project))
		}
	}
}

// In Slack, too, people cannot approve their own calls if the rules forbid it.
func TestApproveOwnInSlack(t *testing.T) {
	t.Parallel()
	for rules, allowed := range map[string]bool{"approve_own: false": false, "approve_own: true": true} {
		w := open(t, whoMay()+"agents: {Memo: {}}\nagent_chains: {shop: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n"+
			"defaults: {tool_config: {risk_approvals: {destructive: {"+rules+"}}}}\n")
		w.program("drop")
		root := config.SlackUser{Grant: config.Grant{Role: config.RoleAdmin, Projects: []string{config.AllProjects}}}
		in := system.RunToolIn{Name: "drop"}
		in.Body.Approved, in.Body.Arguments = true, []byte(`{}`)
		var out system.ToolResult
		if err := w.api.Call(asSlackUser(t.Context(), "root", root, nil), system.RunTool.Operation, in, &out); (err == nil) != allowed {
			t.Errorf("%s: %v", rules, err)
		}
	}
}

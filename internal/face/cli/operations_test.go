package cli

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/system"
)

// commandOf are the commands that run an operation.
var commandOf = map[string]string{
	"list-investigations": "list", "start-investigation": "run", "get-investigation": "show", "get-status": "status",
	"get-evidence": "show", "get-plan": "compare", "compare": "compare",
	"list-artifacts": "artifacts", "get-artifact": "artifacts", "get-transcript": "show", "list-acts": "audit",
	"watch-investigation": "watch", "list-inbox": "inbox", "cancel": "cancel", "score": "score", "decide": "decide", "answer": "answer",
	"extend-budget": "extend", "list-conversations": "threads list", "get-conversation": "chat", "begin-conversation": "chat", "say": "chat",
	"get-conversation-transcript": "chat", "conclude-turn": "chat", "close-conversation": "chat", "watch-conversation": "chat",
	"search-conversations": "threads search", "export-conversation": "threads export", "delete-conversation": "threads delete",
	"list-agents": "agent list", "get-agent": "agent show", "list-agent-versions": "agent show", "create-agent": "agent create",
	"change-agent": "agent edit", "delete-agent": "agent delete", "copy-agent": "agent copy", "run-agent": "agent run",
	"list-memory-blocks": "memory show", "search-memory": "memory show", "write-memory-block": "memory set",
	"delete-memory-block": "memory delete", "list-learnings": "memories list", "get-learning": "memories show",
	"edit-learning": "memories edit", "delete-learning": "memories delete", "get-taught": "memories withdraw",
	"withdraw-learnings": "memories withdraw", "rate": "rate", "review": "review claim", "get-stats": "stats",
	"list-schedules": "schedule list", "create-schedule": "schedule create", "change-schedule": "schedule pause",
	"delete-schedule": "schedule delete",
	"delete-memory":   "memory delete", "list-chains": "chain list", "get-chain": "config show",
	"get-chain-graph": "chain graph", "list-agent-types": "agent-types", "list-tools": "tools", "run-tool": "tool run",
	"list-runbooks": "runbooks",
	"get-config":    "config show", "get-health": "doctor"}

// noCommand says why operations have no command.
var noCommand = map[string]string{
	"check-request": "run checks the request", "get-whole-text": "show prints whole texts", "get-image": "artifacts saves images",
	"watch-list": "list prints the list", "list-alerts": "alerts are shown on the page", "receive-alerts": "other systems send alerts",
	"get-run": "show reads runs", "get-about": "it tells the page who is logged in", "is-alive": "for probes", "is-ready": "for probes",
	"get-metrics": "for Prometheus",
}

// Every operation has a command, or a reason why it has none.
func TestOperationsHaveCommands(t *testing.T) {
	t.Parallel()
	root := root(helpless())
	for _, o := range system.Operations() {
		path, has := commandOf[o.Name]
		if signal, ok := system.SignalNamed(o.Name); ok {
			if signal.Help == "" {
				continue // programs send it
			}
			path, has = signal.Name, true
		}
		if has == (noCommand[o.Name] != "") {
			t.Errorf("%s: command %q, reason for none %q", o.Name, path, noCommand[o.Name])
		}
		if cmd, _, err := root.Find(strings.Fields(path)); has && (err != nil || cmd.CommandPath() != "starter "+path) {
			t.Errorf("%s: no command %q", o.Name, path)
		}
	}
}

package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// PauseHeartbeats lets an agent with heartbeats stop for a while. The workflow makes the pause; the result only
// contains its length.
func PauseHeartbeats() Tool {
	return Tool{
		Spec: tool.Spec{
			Name: agent.ToolPauseHeartbeats,
			Description: "Pauses your heartbeats for a few minutes. During the pause, you run only if a person sends a message or " +
				"wakes you. Use it when you have nothing to do for now.",
			Schema: json.RawMessage(
				`{"type":"object","properties":{"minutes":{"description":"Length of the pause in minutes, from 1 to 60 (default 2)"}}}`),
			Risk: agent.RiskReadOnly,
			Own:  true,
		},
		Run: func(_ context.Context, call tool.Call) tool.Result {
			minutes := PauseMinutes(call.Arguments)
			result := tool.Success(fmt.Sprintf("Heartbeats paused for %d minute(s). I'll stop thinking for now.", minutes))
			result.Pause = minutes
			return result
		},
	}
}

// PauseMinutes returns the length of a heartbeat pause: from 1 to 60 minutes, and 2 if no integer is given (spec:
// agents, "Heartbeats").
func PauseMinutes(arguments json.RawMessage) int {
	var args struct {
		Minutes *json.Number `json:"minutes"`
	}
	if json.Unmarshal(arguments, &args) != nil || args.Minutes == nil {
		return 2
	}
	minutes, err := args.Minutes.Int64()
	if err != nil {
		return 2
	}
	return int(min(max(minutes, 1), 60))
}

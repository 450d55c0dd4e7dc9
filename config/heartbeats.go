package config

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// minHeartbeatInterval keeps an agent from talking to itself all the time: every
// heartbeat is at least one model call.
const minHeartbeatInterval = plan.Duration(time.Minute)

func (a *Agent) validateHeartbeats(p path, v *validator) {
	if a.HeartbeatInterval == 0 {
		return
	}
	if row, ok := agent.LookupType(a.Type); ok && !row.Heartbeats {
		v.Errorf(p, "an agent of type %q has no heartbeats", row.Name)
	}
	if a.HeartbeatInterval < minHeartbeatInterval {
		v.Errorf(p, "must be 1m or longer, got %s", a.HeartbeatInterval)
	}
}

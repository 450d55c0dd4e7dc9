package app

import (
	"context"

	"go.temporal.io/sdk/client"
)

// heartbeats tells Temporal that an activity is alive, past the SDK's own way, which
// cancels an activity as soon as Temporal does not answer.
type heartbeats struct{ client client.Client }

func (h heartbeats) Beat(ctx context.Context, taskToken []byte, waits string) error {
	if waits != "" {
		return h.client.RecordActivityHeartbeat(ctx, taskToken, waits)
	}
	return h.client.RecordActivityHeartbeat(ctx, taskToken)
}

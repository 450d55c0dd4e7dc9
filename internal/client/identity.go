package client

import "github.com/inquest-dev/inquest/internal/agent"

// Identity is a user of the system, authenticated by the channel.
type Identity = agent.Identity

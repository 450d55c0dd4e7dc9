package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
)

// Queue is what is left of a queue of our own: Temporal is the queue.
type Queue struct {
	// SessionTimeout bounds every investigation whose chain has no timeout of its own.
	SessionTimeout plan.Duration `yaml:"session_timeout" default:"none"`
	// GracefulShutdownTimeout is how long a stopping worker lets its running calls finish;
	// its flag --drain wins.
	GracefulShutdownTimeout plan.Duration `yaml:"graceful_shutdown_timeout" default:"30s, of dev 3s"`
	// WorkerCount is how many model and tool calls one worker runs at once; what is
	// more waits in Temporal, for any worker. Quick calls (quick_under) run besides, as many at once;
	// what is more of them waits in its worker. The worker keeps as many workflows in memory as it runs
	// calls at once, and 200 at least. The flags --max-calls and --cached-workflows win.
	WorkerCount *int `yaml:"worker_count" min:"1" max:"10000" default:"1000"`

	_ struct{} `unused:"max_concurrent_sessions" instead:"what waits takes up nothing; worker_count and the number of workers bound what runs"`
	_ struct{} `unused:"poll_interval poll_interval_jitter" instead:"Temporal hands work out when it is there, nothing is polled; remove it"`
	_ struct{} `unused:"orphan_detection_interval orphan_threshold heartbeat_interval" instead:"Temporal hands lost work on; remove it"`
	_ struct{} `unused:"scoring_shutdown_timeout" instead:"another worker goes on with it; graceful_shutdown_timeout is for all calls"`
}

// Calls is how many model and tool calls one worker runs at once; 0 = not said.
func (q Queue) Calls() int { return value(q.WorkerCount) }

// ToolsAlone reports whether the workers of a queue run nothing but the tools of
// the servers that name it.
func (c *Config) ToolsAlone(queue string) bool { return len(c.ServersOf(queue)) > 0 }

// TaskQueues are those that servers name as theirs, sorted.
func (c *Config) TaskQueues() (queues []string) {
	for _, s := range c.MCPServers {
		if s.TaskQueue != "" && s.TaskQueue != plan.MainQueue && !slices.Contains(queues, s.TaskQueue) {
			queues = append(queues, s.TaskQueue)
		}
	}
	slices.Sort(queues)
	return queues
}

// ServersOf are the servers whose tools run on a queue that is not the main one, sorted.
func (c *Config) ServersOf(queue string) (names []string) {
	if queue == "" || queue == plan.MainQueue {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if c.MCPServers[name].TaskQueue == queue {
			names = append(names, name)
		}
	}
	return names
}

// served reports whether the worker that the configuration is for uses what is at
// p: a server's tools run on the workers of its queue, agents on all other workers.
func (c *Config) served(p path) bool {
	if c.src.TaskQueue == "" {
		return true
	}
	for name, server := range c.MCPServers {
		if entryPath("mcp_servers", name).Text == p.Entry && server.TaskQueue != "" {
			return server.TaskQueue == c.src.TaskQueue
		}
	}
	return !optional(p) || !c.ToolsAlone(c.src.TaskQueue)
}

package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
)

// Queue holds the settings that apply although Temporal is the queue.
type Queue struct {
	// SessionTimeout limits every investigation whose chain has no timeout.
	SessionTimeout plan.Duration `yaml:"session_timeout" default:"none"`
	// GracefulShutdownTimeout is how long a stopping worker lets its running calls finish. The flag --drain overrides
	// it.
	GracefulShutdownTimeout plan.Duration `yaml:"graceful_shutdown_timeout" default:"30s, of dev 3s"`
	// WorkerCount is how many model and tool calls one worker runs at once. Further calls wait in Temporal for any
	// worker. The worker runs as many quick calls (quick_under) in addition; further quick calls wait in the worker.
	// The worker also caches this many workflows in memory, and at least 200. The flags --max-calls and
	// --cached-workflows override it.
	WorkerCount *int `yaml:"worker_count" min:"1" max:"10000" default:"1000"`

	_ struct{} `unused:"max_concurrent_sessions" instead:"what waits takes up nothing; worker_count and the number of workers bound what runs"`
	_ struct{} `unused:"poll_interval poll_interval_jitter" instead:"Temporal hands work out when it is there, nothing is polled; remove it"`
	_ struct{} `unused:"orphan_detection_interval orphan_threshold heartbeat_interval" instead:"Temporal hands lost work on; remove it"`
	_ struct{} `unused:"scoring_shutdown_timeout" instead:"another worker goes on with it; graceful_shutdown_timeout is for all calls"`
}

// Calls is how many model and tool calls one worker runs at once. Zero means not set.
func (q Queue) Calls() int { return value(q.WorkerCount) }

// ToolsAlone reports whether the workers of a queue run only the tools of the servers that name the queue.
func (c *Config) ToolsAlone(queue string) bool { return len(c.ServersOf(queue)) > 0 }

// TaskQueues returns the queues that servers name, sorted.
func (c *Config) TaskQueues() (queues []string) {
	for _, s := range c.MCPServers {
		if s.TaskQueue != "" && s.TaskQueue != plan.MainQueue && !slices.Contains(queues, s.TaskQueue) {
			queues = append(queues, s.TaskQueue)
		}
	}
	slices.Sort(queues)
	return queues
}

// ServersOf returns the servers whose tools run on a queue other than the main one, sorted.
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

// served reports whether the worker that loads the configuration uses the entry at p. A server's tools run on the
// workers of its queue, and agents on all other workers.
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

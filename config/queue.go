package config

import "github.com/inquest-dev/inquest/internal/agent"

// Queue is what is left of a queue of our own: Temporal is the queue.
type Queue struct {
	// SessionTimeout bounds every investigation whose chain has no timeout of its own.
	SessionTimeout agent.Duration `yaml:"session_timeout" default:"none"`
	// GracefulShutdownTimeout is how long a stopping worker lets its running calls finish.
	GracefulShutdownTimeout agent.Duration `yaml:"graceful_shutdown_timeout" default:"30s"`
	// WorkerCount is how many model and tool calls one worker runs at once.
	WorkerCount *int `yaml:"worker_count" min:"1" max:"10000" default:"as Temporal has it"`

	_ struct{} `unused:"max_concurrent_sessions" instead:"an investigation that waits takes up nothing; worker_count and the number of workers bound what runs"`
	_ struct{} `unused:"poll_interval poll_interval_jitter" instead:"Temporal hands work out when it is there, nothing is polled; remove it"`
	_ struct{} `unused:"orphan_detection_interval orphan_threshold heartbeat_interval" instead:"Temporal gives the work of a lost worker to another one within seconds; remove it"`
}

// Calls is how many model and tool calls one worker runs at once; 0 = as Temporal has it.
func (q Queue) Calls() int { return value(q.WorkerCount) }

func (q Queue) settings() settings { return settings{Timeout: q.SessionTimeout} }

package devserver

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig tunes for latency on one host. The keys are typed: Temporal ignores an unknown one in silence.
func dynamicConfig() dynamicconfig.StaticClient {
	const pollsPerSecond = 2000
	return dynamicconfig.StaticClient{
		// With the default of 20 polls per second, each step of a workflow waits for the next poll: an activity takes
		// 50 ms there and back, instead of 6.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   pollsPerSecond,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      pollsPerSecond,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): pollsPerSecond,

		// The default lets no timer fire in less than a second: neither a short sleep nor the first retry of an activity.
		// Those that are due within this time are read at once: each activity has one, and with 10 ms they took 5 % of the CPU.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 100 * time.Millisecond,

		// The default pads every run that continues as new to a second.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): time.Millisecond,

		// Four partitions spread a queue over hosts; here they only forward tasks to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// Off by default; without it the fairness keys of tasks (a request's tenant) mean nothing.
		dynamicconfig.MatchingEnableFairness.Key(): true,

		// The UI and everybody who lists or watches share this budget; the default is 10 per second.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,

		// A search attribute counts as soon as it is registered. Workers register theirs when they start; a workflow
		// that upserts one before the server's cache is read again fails its task and waits 10 s for the next.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,

		// 128,000 workflows in memory are for a cluster.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8192,

		// No calls out of the house.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}

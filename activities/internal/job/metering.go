package job

import (
	"context"
	"math"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// The metrics of model calls. They use the same handler as those of the Temporal SDK.
const (
	metricCalls  = "inquest_model_calls_total"
	metricTokens = "inquest_model_tokens_total"
	// metricCost is in millionths of a dollar: the SDK's counters are whole numbers.
	metricCost = "inquest_model_cost_microdollars_total"
)

// The metrics of investigations and tool calls. A step that is repeated after a crash counts again.
const (
	MetricStarted   = "inquest_investigations_started_total"
	MetricEnded     = "inquest_investigations_ended_total"
	MetricToolCalls = "inquest_tool_calls_total"
)

// Count adds one to a counter, with tags in pairs.
func Count(ctx context.Context, counter string, tags ...string) {
	all := map[string]string{}
	for n := 0; n+1 < len(tags); n += 2 {
		all[tags[n]] = tags[n+1]
	}
	activity.GetMetricsHandler(ctx).WithTags(all).Counter(counter).Inc(1)
}

// Meter counts a model call's usage. Input and output are totals; the other kinds of tokens are parts of them. If a
// reply is lost and requested again, it counts twice, because it is paid for twice.
func Meter(ctx context.Context, p *plan.Provider, used agent.Usage) {
	handler := activity.GetMetricsHandler(ctx).WithTags(map[string]string{"provider": p.Name, "model": p.Model})
	handler.Counter(metricCalls).Inc(int64(used.ModelCalls))
	for kind, tokens := range map[string]int{
		"input": used.InputTokens, "output": used.OutputTokens, "cache_read": used.CacheReadTokens,
		"cache_write": used.CacheWriteTokens, "reasoning": used.ReasoningTokens, "image": used.ImageTokens,
	} {
		if tokens > 0 {
			handler.WithTags(map[string]string{"kind": kind}).Counter(metricTokens).Inc(int64(tokens))
		}
	}
	handler.Counter(metricCost).Inc(int64(math.Round(used.CostUSD * 1e6)))
}

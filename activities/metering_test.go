package activities_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/metrics"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestMetering: the metrics have the models' usage by kind, and a stored reply counts only once.
func TestMetering(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) {
		a.Providers = []plan.Provider{{Name: "p", Model: "gpt-4o", Prices: plan.Prices{Input: 2, Output: 10, CacheRead: 1}}}
	})
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "done", Finish: llm.FinishStop, Usage: agent.Usage{
			InputTokens: 1000, OutputTokens: 100, CacheReadTokens: 600, CacheWriteTokens: 50, ReasoningTokens: 40, ImageTokens: 7}}, nil
	}
	counted := metrics.New()
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(counted.Temporal())
	b.env = suite.NewTestActivityEnvironment()
	b.env.RegisterActivity(b.act)
	for range 2 {
		if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
			t.Fatal(err)
		}
	}
	answer := httptest.NewRecorder()
	counted.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	var got []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "inquest_") {
			got = append(got, strings.TrimSpace(strings.Replace(otherLabels.ReplaceAllString(line, ""), ",}", "}", 1)))
		}
	}
	want := []string{
		`inquest_model_calls_total{model="gpt-4o",provider="p"} 1`,
		`inquest_model_cost_microdollars_total{model="gpt-4o",provider="p"} 2400`,
		`inquest_model_tokens_total{kind="cache_read",model="gpt-4o",provider="p"} 600`,
		`inquest_model_tokens_total{kind="cache_write",model="gpt-4o",provider="p"} 50`,
		`inquest_model_tokens_total{kind="image",model="gpt-4o",provider="p"} 7`,
		`inquest_model_tokens_total{kind="input",model="gpt-4o",provider="p"} 1000`,
		`inquest_model_tokens_total{kind="output",model="gpt-4o",provider="p"} 100`,
		`inquest_model_tokens_total{kind="reasoning",model="gpt-4o",provider="p"} 40`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// otherLabels matches the SDK's own labels.
var otherLabels = regexp.MustCompile(`(activity_type|client_name|namespace|task_queue|worker_type|workflow_type)="[^"]*",?`)

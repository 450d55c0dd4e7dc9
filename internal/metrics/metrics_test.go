package metrics

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// However many names models, chains and errors are given, there is a bounded number of series, and nothing goes uncounted.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	const names, most = 2000, maxValues + 1
	m := New()
	var group sync.WaitGroup
	for n := range names {
		group.Go(func() {
			by := m.Temporal().WithTags(map[string]string{"model": fmt.Sprint("m", n), "kind": "input"})
			by.Counter("inquest_model_calls_total").Inc(1)
			by.Gauge("size").Update(1)
			by.Timer("latency").Record(time.Second)
		})
	}
	group.Wait()
	m.Temporal().WithTags(map[string]string{"model": "m\xff"}).Counter("inquest_model_calls_total").Inc(1) // it does not panic
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text := answer.Body.String()
	for series, want := range map[string]int{
		`inquest_model_calls_total{kind="input",model="`: most, `size{kind="input",model="`: most,
		`latency_seconds_count{kind="input",model="`:                                                   most,
		fmt.Sprintf("inquest_model_calls_total{kind=\"input\",model=%q} %d\n", Other, names-maxValues): 1,
		`inquest_model_calls_total{model="other"} 1`:                                                   1,
	} {
		if got := strings.Count(text, series); got != want {
			t.Errorf("%d series %s, want %d", got, series, want)
		}
	}
}

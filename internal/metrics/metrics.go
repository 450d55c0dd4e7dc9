// Package metrics collects metrics of the Temporal SDK, the worker and the use of models, for Prometheus.
package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.temporal.io/sdk/client"
)

// buckets are the histogram buckets of durations, in seconds.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// Metrics holds the metrics of this process. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	mu       sync.Mutex
	counters map[string]*prometheus.CounterVec
	gauges   map[string]*prometheus.GaugeVec
	times    map[string]*prometheus.HistogramVec
	values   map[string]map[string]bool // by label
}

// maxValues is how many values of one label are kept apart; later ones become Other. Requests, virtual agents and tools can
// produce any number of names of models, chains and errors, and each name would be a permanent time series.
const maxValues = 200

// Other replaces all further values of a label.
const Other = "other"

// New returns metrics that contain only those of the Go runtime and the process.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{},
		gauges: map[string]*prometheus.GaugeVec{}, times: map[string]*prometheus.HistogramVec{},
		values: map[string]map[string]bool{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Read adds a gauge. Each scrape calls read.
func (m *Metrics) Read(name, about string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: about}, read))
}

// Temporal returns the metrics handler for a Temporal client.
func (m *Metrics) Temporal() client.MetricsHandler { return handler{m, nil} }

type handler struct {
	*Metrics
	tags map[string]string
}

func (h handler) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(h.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return handler{h.Metrics, all}
}

func (h handler) Counter(name string) client.MetricsCounter {
	labels := h.labels()
	c := vector(h.Metrics, h.counters, name, labels, func(name string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help(name)}, labels)
	}).With(labels)
	return counter{c}
}

// help returns a metric's help text. Activities use the SDK's handler too, so the name tells the two apart.
func help(name string) string {
	if strings.HasPrefix(name, "inquest_") {
		return "Inquest metric: see docs/reference/api.md"
	}
	return "Temporal SDK metric"
}

func (h handler) Gauge(name string) client.MetricsGauge {
	labels := h.labels()
	g := vector(h.Metrics, h.gauges, name, labels, func(name string, labels []string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "Temporal SDK metric"}, labels)
	}).With(labels)
	return gauge{g}
}

func (h handler) Timer(name string) client.MetricsTimer {
	labels := h.labels()
	t := vector(h.Metrics, h.times, name, labels, func(name string, labels []string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: name + "_seconds", Help: "Temporal SDK metric", Buckets: buckets}
		return prometheus.NewHistogramVec(opts, labels)
	}).With(labels)
	return timer{t}
}

// unchecked allows metrics with the same name and different labels, because the SDK has such.
type unchecked struct{ prometheus.Collector }

func (unchecked) Describe(chan<- *prometheus.Desc) {}

// vector returns the metric with a name and these labels, and registers it if it is new.
func vector[V prometheus.Collector](
	m *Metrics, all map[string]V, name string, by prometheus.Labels, build func(name string, labels []string) V,
) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := slices.Sorted(maps.Keys(by))
	key := name + " " + strings.Join(labels, " ")
	v, known := all[key]
	if !known {
		v = build(clean(name), labels)
		all[key] = v
		m.registry.MustRegister(unchecked{v})
	}
	return v
}

func (h handler) labels() prometheus.Labels {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := prometheus.Labels{}
	for name, value := range h.tags {
		name = clean(name)
		out[name] = h.bounded(name, strings.ToValidUTF8(value, "?"))
	}
	return out
}

// bounded returns the value of a label, or Other. The caller holds the lock.
func (m *Metrics) bounded(label, value string) string {
	seen := m.values[label]
	if seen == nil {
		seen = map[string]bool{}
		m.values[label] = seen
	}
	if !seen[value] && len(seen) >= maxValues {
		return Other
	}
	seen[value] = true
	return value
}

// clean replaces characters that Prometheus does not allow in a name.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

type counter struct{ prometheus.Counter }

func (c counter) Inc(n int64) { c.Add(float64(n)) }

type gauge struct{ prometheus.Gauge }

func (g gauge) Update(v float64) { g.Set(v) }

type timer struct{ prometheus.Observer }

func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }

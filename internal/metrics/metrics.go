// Package metrics counts what the Temporal SDK and the worker do, and what models use, for Prometheus.
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

// buckets are those of times, in seconds.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// Metrics are kept in this process.
type Metrics struct {
	registry *prometheus.Registry
	mu       sync.Mutex
	counters map[string]*prometheus.CounterVec
	gauges   map[string]*prometheus.GaugeVec
	times    map[string]*prometheus.HistogramVec
}

// New returns metrics that are those of the process so far.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{},
		gauges: map[string]*prometheus.GaugeVec{}, times: map[string]*prometheus.HistogramVec{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves them.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Read adds a gauge that is read when somebody asks for the metrics.
func (m *Metrics) Read(name, about string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: about}, read))
}

// Temporal is the handler that a Temporal client is given.
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
	c := vector(h, h.counters, name, func(name string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help(name)}, labels)
	}).With(h.labels())
	return counter{c}
}

// help is what is said of a metric: activities count by the SDK's handler, too.
func help(name string) string {
	if strings.HasPrefix(name, "inquest_") {
		return "of Inquest: see docs/api.md"
	}
	return "of the Temporal SDK"
}

func (h handler) Gauge(name string) client.MetricsGauge {
	g := vector(h, h.gauges, name, func(name string, labels []string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "of the Temporal SDK"}, labels)
	}).With(h.labels())
	return gauge{g}
}

func (h handler) Timer(name string) client.MetricsTimer {
	t := vector(h, h.times, name, func(name string, labels []string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: name + "_seconds", Help: "of the Temporal SDK", Buckets: buckets}
		return prometheus.NewHistogramVec(opts, labels)
	}).With(h.labels())
	return timer{t}
}

// unchecked lets one name come with different labels: the SDK has such.
type unchecked struct{ prometheus.Collector }

func (unchecked) Describe(chan<- *prometheus.Desc) {}

// vector is the metric of a name with these labels.
func vector[V prometheus.Collector](h handler, all map[string]V, name string, build func(name string, labels []string) V) V {
	h.mu.Lock()
	defer h.mu.Unlock()
	labels := slices.Sorted(maps.Keys(h.labels()))
	key := name + " " + strings.Join(labels, " ")
	v, known := all[key]
	if !known {
		v = build(clean(name), labels)
		all[key] = v
		h.registry.MustRegister(unchecked{v})
	}
	return v
}

func (h handler) labels() prometheus.Labels {
	out := prometheus.Labels{}
	for name, value := range h.tags {
		out[clean(name)] = value
	}
	return out
}

// clean makes a name one of Prometheus's.
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

// Package tracing exports one OpenTelemetry trace for each investigation over OTLP. Spans are made from the rows and records that
// activities commit. The store accepts each of them once, so a retry or a replay adds no span, and the IDs of spans are derived
// from their rows, so all workers extend the same trace. A worker that crashes between the commit and the export loses the span.
package tracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Tracer exports spans. It is safe for concurrent use. Nil exports nothing.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	mu       sync.Mutex
	origins  map[string]origin // by investigation
}

// origin is where an investigation's trace begins.
type origin struct {
	parent  trace.SpanContext // from the request; invalid means none
	trace   trace.TraceID
	sampled bool
	// conversation means that no span covers the whole: conversations have no end.
	conversation bool
}

// maxOrigins limits the cache of origins.
const maxOrigins = 1000

// FromEnv returns a tracer that is configured by the OTEL_* environment variables of the OpenTelemetry specification. It returns nil
// if they name no OTLP endpoint or switch traces off. instance identifies the process.
func FromEnv(ctx context.Context, instance string, log *slog.Logger) (*Tracer, error) {
	if !enabled() {
		return nil, nil
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces over OTLP: %w", err)
	}
	process, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("inquest"), semconv.ServiceVersion(version()), semconv.ServiceInstanceID(instance),
	), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return newTracer(sdktrace.WithBatcher(&logged{SpanExporter: exporter, log: log}), sdktrace.WithResource(process)), nil
}

func newTracer(opts ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(append(opts, sdktrace.WithIDGenerator(ids{}))...)
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/inquest-dev/inquest"), origins: map[string]origin{}}
}

// version returns the version of the program's main module; empty means unknown.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

// enabled follows https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/, except that traces are off by
// default: without an endpoint, most fleets have no collector.
func enabled() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	case "none":
		return false
	}
	return true
}

func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	if name := os.Getenv("OTEL_TRACES_EXPORTER"); name != "" && name != "otlp" {
		return nil, fmt.Errorf("unknown OTEL_TRACES_EXPORTER %q; available: otlp, none", name)
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("unknown protocol %q in OTEL_EXPORTER_OTLP_TRACES_PROTOCOL or OTEL_EXPORTER_OTLP_PROTOCOL; "+
			"available: http/protobuf, grpc", protocol)
	}
}

// logged logs failed exports instead of returning them to the SDK, which would write them to stderr.
type logged struct {
	sdktrace.SpanExporter
	log  *slog.Logger
	last time.Time
}

// logEvery is how often failed exports are logged.
const logEvery = time.Minute

func (l *logged) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := l.SpanExporter.ExportSpans(ctx, spans)
	if err != nil && time.Since(l.last) >= logEvery { // the SDK exports one batch at a time
		l.last = time.Now()
		l.log.Warn("spans were lost: the OTLP endpoint did not accept them", "spans", len(spans), "error", err)
	}
	return nil
}

// closeWithin limits how long Close waits for the OTLP endpoint.
const closeWithin = 5 * time.Second

// Close exports the remaining spans.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // logged
}

// span is a span to export.
type span struct {
	id, parent trace.SpanID
	name       string
	kind       trace.SpanKind
	start, end time.Time
	failure    string // an error type; empty means success
	attributes []attribute.KeyValue
}

// export exports a span of an investigation. Errors are not reported: tracing never fails an activity.
func (t *Tracer) export(ctx context.Context, records records, investigation string, s span) {
	from, ok := t.origin(ctx, records, investigation)
	if !ok {
		return
	}
	parent := from.parent
	if s.parent.IsValid() && !from.conversation {
		parent = from.context(s.parent)
	}
	ctx = trace.ContextWithRemoteSpanContext(withIDs(context.WithoutCancel(ctx), from.trace, s.id), parent)
	_, out := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.start), trace.WithAttributes(s.attributes...),
		trace.WithAttributes(semconv.GenAIConversationID(investigation)))
	if s.failure != "" {
		out.SetStatus(codes.Error, s.failure)
		out.SetAttributes(semconv.ErrorTypeKey.String(s.failure))
	}
	out.End(trace.WithTimestamp(s.end))
}

// origin returns where an investigation's trace begins; false if the store did not answer.
func (t *Tracer) origin(ctx context.Context, records records, investigation string) (origin, bool) {
	t.mu.Lock()
	from, known := t.origins[investigation]
	t.mu.Unlock()
	if known {
		return from, true
	}
	stored, err := records.Investigation(ctx, investigation)
	switch {
	case errors.Is(err, record.ErrNotFound):
		from.conversation = true
	case err != nil:
		return from, false
	}
	from.parent = Parse(ctx, stored.Metadata[agent.TraceParent])
	from.trace = from.parent.TraceID()
	if !from.trace.IsValid() {
		sum := sha256.Sum256([]byte("trace " + investigation))
		from.trace = trace.TraceID(sum[:16])
	}
	// The environment configures the sampler. This span, which never ends, is not exported.
	_, probe := t.tracer.Start(trace.ContextWithRemoteSpanContext(withIDs(ctx, from.trace, spanID(investigation)), from.parent), "probe")
	from.sampled = probe.SpanContext().IsSampled()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.origins) >= maxOrigins {
		clear(t.origins)
	}
	t.origins[investigation] = from
	return from, true
}

// context returns the context of one of the trace's spans.
func (o origin) context(id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: o.trace, SpanID: id, TraceFlags: trace.TraceFlags(0).WithSampled(o.sampled), Remote: true,
	})
}

// Parse reads a traceparent header. The result is invalid if the text is.
func Parse(ctx context.Context, traceparent string) trace.SpanContext {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{}) // what Extract returns for an invalid header
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{agent.TraceParent: traceparent}))
}

// ids takes the IDs of spans from their contexts.
type ids struct{}

type idsKey struct{}

type spanIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIDs(ctx context.Context, traceID trace.TraceID, spanID trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, spanIDs{traceID, spanID})
}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(idsKey{}).(spanIDs)
	return given.trace, given.span
}

func (g ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// spanID derives the ID of a span from what identifies it.
func spanID(parts ...any) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "span %q", parts))
	return trace.SpanID(sum[:8])
}

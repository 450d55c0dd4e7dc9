package tracing

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Store is what activities commit to.
type Store interface {
	activities.Transcripts
	activities.Records
	activities.Memories
}

// records is the part of Store that a trace's origin needs.
type records interface {
	Investigation(ctx context.Context, id string) (record.Investigation, error)
}

// traced exports a span for each commit.
type traced struct {
	Store
	tracer *Tracer
}

// Store returns a store that also exports spans.
func (t *Tracer) Store(s Store) Store {
	if t == nil {
		return s
	}
	return &traced{s, t}
}

// The names of the attributes that have no semantic convention.
const (
	keyExecution = attribute.Key("inquest.execution")
	keyStage     = attribute.Key("inquest.stage")
	keyRow       = attribute.Key("inquest.row.id") // the row's number in the investigation's transcript
	keyStatus    = attribute.Key("inquest.status")
	keyReason    = attribute.Key("inquest.end_reason")
	keyCost      = attribute.Key("inquest.cost_usd")
	keyRisk      = attribute.Key("inquest.tool.risk")
)

func (s *traced) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	stored, err := s.Store.Append(ctx, step)
	s.rows(ctx, stored, step.Writer)
	return stored, err
}

func (s *traced) AppendReply(ctx context.Context, step transcript.Step) ([]transcript.Entry, int, error) {
	stored, unread, err := s.Store.AppendReply(ctx, step)
	s.rows(ctx, stored, step.Writer)
	return stored, unread, err
}

func (s *traced) Journal(
	ctx context.Context, batch memory.Batch, run func(memory.Tx, int) (transcript.Body, error),
) ([]transcript.Entry, error) {
	stored, err := s.Store.Journal(ctx, batch, run)
	s.rows(ctx, stored, batch.Writer)
	return stored, err
}

// rows exports the rows that this writer has added. Rows of other writers were there before.
func (s *traced) rows(ctx context.Context, stored []transcript.Entry, writer transcript.Writer) {
	for _, e := range stored {
		if out, ok := rowSpan(e); ok && e.Writer == writer {
			s.tracer.export(ctx, s.Store, e.Investigation, out)
		}
	}
}

// rowSpan returns the span of a row; false if it is neither a model call nor a tool call.
func rowSpan(e transcript.Entry) (span, bool) {
	took := time.Duration(e.ElapsedMS) * time.Millisecond
	out := span{
		id: rowID(e.Scope, e.Key, e.Writer.RunID), parent: executionID(e.Investigation, e.Execution), kind: trace.SpanKindClient,
		start: e.At.Add(-took), end: e.At, failure: e.ErrorType,
		attributes: []attribute.KeyValue{keyRow.Int64(e.Seq), keyExecution.String(e.Execution)},
	}
	switch {
	case e.Kind == transcript.KindResult && e.Call != nil && e.Recorded == "":
		out.name, out.kind = "execute_tool "+e.Call.Name, trace.SpanKindInternal
		out.attributes = append(out.attributes, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(e.Call.Name),
			semconv.GenAIToolCallID(e.Call.ID), keyRisk.String(string(e.Call.Risk)), keyStatus.String(e.Status))
		return out, true
	case e.Model == "": // another kind of row, or the reply of a function
		return out, false
	case e.Kind == transcript.KindTry:
		out.start, out.end = e.At, e.At.Add(took)
	case e.Kind != transcript.KindReply && e.Kind != transcript.KindSummary:
		return out, false
	}
	out.name = "chat " + e.Model
	out.attributes = append(out.attributes, semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(e.Provider),
		semconv.GenAIResponseModel(e.Model))
	if e.Finish != "" {
		out.attributes = append(out.attributes, semconv.GenAIResponseFinishReasons(e.Finish))
	}
	if e.Usage != nil {
		out.attributes = append(out.attributes, usage(*e.Usage)...)
	}
	return out, true
}

func usage(u agent.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.GenAIUsageInputTokens(u.InputTokens), semconv.GenAIUsageOutputTokens(u.OutputTokens),
		semconv.GenAIUsageCacheReadInputTokens(u.CacheReadTokens), semconv.GenAIUsageCacheCreationInputTokens(u.CacheWriteTokens),
		semconv.GenAIUsageReasoningOutputTokens(u.ReasoningTokens), keyCost.Float64(u.CostUSD),
	}
}

// SaveStage exports the stage and its executions, unless they were saved before.
func (s *traced) SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution, envelope *record.Envelope) error {
	before, err := s.Store.Stages(ctx, stage.Investigation)
	known := err != nil || slices.ContainsFunc(before, func(b record.Stage) bool { return b.Name == stage.Name && b.EndedAt != nil })
	if err := s.Store.SaveStage(ctx, stage, execs, envelope); err != nil || known || stage.EndedAt == nil {
		return err
	}
	for _, e := range execs {
		s.execution(ctx, e)
	}
	s.tracer.export(ctx, s.Store, stage.Investigation, span{
		id: stageID(stage.Investigation, stage.Name), parent: rootID(stage.Investigation), name: "stage " + stage.Name,
		kind: trace.SpanKindInternal, start: stage.StartedAt, end: *stage.EndedAt, failure: failure(stage.Status, stage.Envelope.ErrorType),
		attributes: []attribute.KeyValue{keyStage.String(stage.Name), keyStatus.String(string(stage.Status))},
	})
	return nil
}

// SaveExecution exports the execution, unless it was saved before.
func (s *traced) SaveExecution(ctx context.Context, e record.Execution) error {
	before, err := s.Store.Executions(ctx, e.Investigation)
	known := err != nil || slices.ContainsFunc(before, func(b record.Execution) bool { return b.Name == e.Name && b.EndedAt != nil })
	if err := s.Store.SaveExecution(ctx, e); err != nil || known {
		return err
	}
	s.execution(ctx, e)
	return nil
}

// SaveScore exports the score as a stage with one execution, unless it was saved before.
func (s *traced) SaveScore(ctx context.Context, r record.Score, by record.Execution) error {
	before, err := s.Store.Scores(ctx, r.Investigation)
	known := err != nil || slices.ContainsFunc(before, func(b record.Score) bool { return b.N == r.N && b.EndedAt != nil })
	if err := s.Store.SaveScore(ctx, r, by); err != nil || known || r.EndedAt == nil {
		return err
	}
	s.execution(ctx, by)
	stage, _, _ := strings.Cut(by.Name, "/")
	s.tracer.export(ctx, s.Store, r.Investigation, span{
		id: stageID(r.Investigation, stage), parent: rootID(r.Investigation), name: "score " + strconv.Itoa(r.N),
		kind: trace.SpanKindInternal, start: r.StartedAt, end: *r.EndedAt, failure: failure(r.Status, ""),
		attributes: []attribute.KeyValue{keyStage.String(stage), keyStatus.String(string(r.Status))},
	})
	return nil
}

func (s *traced) execution(ctx context.Context, e record.Execution) {
	if e.EndedAt == nil {
		return
	}
	parent := stageID(e.Investigation, e.Stage)
	if n := strings.LastIndexByte(e.Name, '/'); strings.Contains(e.Name[:max(n, 0)], "/") { // dispatched by another agent
		parent = executionID(e.Investigation, e.Name[:n])
	}
	s.tracer.export(ctx, s.Store, e.Investigation, span{
		id: executionID(e.Investigation, e.Name), parent: parent, name: "invoke_agent " + e.Agent,
		kind: trace.SpanKindInternal, start: e.StartedAt, end: *e.EndedAt, failure: failure(e.Status, string(e.StopReason)),
		attributes: append(usage(e.Usage), semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(e.Agent),
			semconv.GenAIAgentID(e.Name), semconv.GenAIProviderNameKey.String(e.Provider), semconv.GenAIResponseModel(e.Model),
			keyExecution.String(e.Name), keyStage.String(e.Stage), keyStatus.String(string(e.Status))),
	})
}

// FinishInvestigation exports the investigation's own span, unless it was finished before.
func (s *traced) FinishInvestigation(ctx context.Context, inv record.Investigation) error {
	before, err := s.Store.Investigation(ctx, inv.ID)
	if err := s.Store.FinishInvestigation(ctx, inv); err != nil {
		return err
	}
	if err == nil && before.EndedAt == nil {
		s.investigation(ctx, before, inv)
	}
	return nil
}

// CloseInvestigation exports the investigation's own span if it was still open.
func (s *traced) CloseInvestigation(ctx context.Context, inv record.Investigation) (bool, error) {
	before, err := s.Store.Investigation(ctx, inv.ID)
	closed, closeErr := s.Store.CloseInvestigation(ctx, inv)
	if closed && err == nil {
		s.investigation(ctx, before, inv)
	}
	return closed, closeErr
}

func (s *traced) investigation(ctx context.Context, began, ended record.Investigation) {
	end := time.Now()
	if ended.EndedAt != nil {
		end = *ended.EndedAt
	}
	s.tracer.export(ctx, s.Store, began.ID, span{
		id: rootID(began.ID), name: "invoke_workflow " + began.Chain, kind: trace.SpanKindInternal, start: began.StartedAt, end: end,
		failure: failure(ended.Status, string(ended.EndReason)),
		attributes: append(usage(ended.Usage), semconv.GenAIOperationNameInvokeWorkflow, semconv.GenAIWorkflowName(began.Chain),
			keyStatus.String(string(ended.Status)), keyReason.String(string(ended.EndReason))),
	})
}

// failure returns the error type of a span that ended with a status.
func failure(status agent.Status, why string) string {
	if status == agent.StatusCompleted || status == agent.StatusSkipped {
		return ""
	}
	return cmp.Or(why, string(status))
}

func rootID(investigation string) trace.SpanID         { return spanID(investigation) }
func stageID(investigation, stage string) trace.SpanID { return spanID(investigation, "stage", stage) }
func executionID(investigation, name string) trace.SpanID {
	return spanID(investigation, "execution", name)
}
func rowID(s transcript.Scope, k transcript.Key, run string) trace.SpanID {
	return spanID(s.Investigation, s.Execution, k.Iteration, k.Position, run)
}

// caller gives the calls of tools a trace context, for servers that continue the trace.
type caller struct {
	tool.Caller
	tracer  *Tracer
	records records
}

// Caller returns a caller whose calls carry the trace context of their span.
func (t *Tracer) Caller(c tool.Caller, s Store) tool.Caller {
	if t == nil {
		return c
	}
	return caller{c, t, s}
}

func (c caller) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	parts := strings.Split(call.Key, "/") // see tool.Call
	if from, ok := c.tracer.origin(ctx, c.records, call.Investigation); ok && len(parts) > 2 {
		n, _ := strconv.Atoi(parts[len(parts)-2]) // our own number
		scope := transcript.Scope{Investigation: call.Investigation, Execution: call.Execution}
		run := activity.GetInfo(ctx).WorkflowExecution.RunID
		ctx = trace.ContextWithRemoteSpanContext(ctx, from.context(rowID(scope, transcript.ResultKey(call.Iteration, n), run)))
	}
	return c.Caller.Call(ctx, call)
}

package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/workflows"
)

// investigations starts and reads investigations.
type investigations struct{ base }

func (h investigations) routes(to *Server) {
	register(to, system.ListInvestigations, h.listInvestigations)
	add(to, system.StartInvestigation.Operation, h.start)
	register(to, system.GetInvestigation, h.getInvestigation)
	register(to, system.GetStatus, h.status)
	register(to, system.GetEvidence, h.evidence)
	register(to, system.GetPlan, h.getPlan)
	register(to, system.Compare, h.compare)
	register(to, system.ListArtifacts, h.artifacts)
	add(to, system.GetArtifact.Operation, h.artifact)
}

func (h investigations) listInvestigations(ctx context.Context, in *system.ListIn) (*body[system.Page[system.Listed]], error) {
	filter := record.Filter{
		Status: agent.Status(in.Status), Chain: in.Chain, AlertType: in.AlertType, Tenant: in.Tenant, Session: in.Session,
		Since: in.Since, NeedsMe: in.NeedsMe, Review: record.ReviewState(in.Review), Assignee: in.Assignee,
		Search: in.Search, NamesOnly: in.NamesOnly, Limit: in.Limit + 1,
	}
	var err error
	if filter.Projects, err = accessOf(ctx).within(in.Project); err != nil {
		return nil, err
	}
	if in.Status != "" && !slices.Contains(append(agent.Open(), agent.Ends()...), filter.Status) {
		return nil, huma.Error422UnprocessableEntity(fmt.Sprintf("unknown status %q", in.Status))
	}
	for _, pair := range in.Meta {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, huma.Error422UnprocessableEntity("meta must have the form KEY=VALUE")
		}
		if filter.Metadata == nil {
			filter.Metadata = map[string]string{}
		}
		filter.Metadata[key] = value
	}
	if filter.Before, err = placeOf(in.Cursor); err != nil {
		return nil, err
	}
	l, err := h.opts.System.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	if l.Remote { // Temporal's list has no projects
		return nil, system.ErrNoStore
	}
	out := system.Page[system.Listed]{Items: []system.Listed{}}
	if len(l.All) > in.Limit {
		l.All = l.All[:in.Limit]
		out.Next = cursorOf(l.All[in.Limit-1])
	}
	for _, r := range l.All {
		out.Items = append(out.Items, l.Listed(shown(r)))
	}
	return reply(out), nil
}

// shown fills in the project of a record if it has none.
func shown(r record.Investigation) record.Investigation {
	r.Project = cmp.Or(r.Project, agent.DefaultProject)
	return r
}

func cursorOf(r record.Investigation) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", r.StartedAt.UnixMicro(), r.ID))
}

func placeOf(cursor string) (p record.Place, err error) {
	if cursor == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(raw), " ")
	micros, wrong := strconv.ParseInt(at, 10, 64)
	if err != nil || wrong != nil || !ok || id == "" || strings.ToValidUTF8(id, "") != id || strings.Contains(id, "\x00") {
		return p, errCursor
	}
	return record.Place{StartedAt: time.UnixMicro(micros), ID: id}, nil
}

type startOut struct {
	Status   int
	Location string `header:"Location"`
	Body     system.Started
}

func (h investigations) start(ctx context.Context, in *system.StartIn) (*startOut, error) {
	who, req := accessOf(ctx), in.Body.Request()
	if req.Fork != nil {
		o, err := h.owned(ctx, req.Fork.Of)
		if err != nil {
			return nil, err
		}
		forked := *req.Fork
		forked.Of, req.Fork, req.Project = o.ID, &forked, cmp.Or(req.Project, o.Project)
	}
	var err error
	if req.Project, err = who.owner(req.Project); err != nil {
		return nil, err
	}
	if req.Fork != nil && len(req.Fork.Prompts) > 0 && who.rank(req.Project) < rank[config.RoleAdmin] {
		return nil, huma.Error403Forbidden(`"prompts" of a fork require the role admin in project ` + req.Project)
	}
	if req.Chain == "" && req.AlertType == "" && req.Fork == nil {
		return nil, huma.Error422UnprocessableEntity(`set "chain" or "alert_type"`)
	}
	req.By = who.by()
	if who.traceParent != "" && req.Metadata[agent.TraceParent] == "" {
		all := map[string]string{agent.TraceParent: who.traceParent}
		maps.Copy(all, req.Metadata)
		req.Metadata = all
	}
	st := system.Start{Request: req, Data: agent.Request{Data: in.Body.Data}.DataText()}
	st.Know(h.opts.Config())
	if in.Key != "" {
		asked, err := json.Marshal(in.Body)
		if err != nil {
			return nil, err
		}
		key := sha256.Sum256(fmt.Appendf(nil, "%q", []string{req.Project, who.name, in.Key}))
		st.Workflow = fmt.Sprintf("%s-%x", system.IDOf(cmp.Or(req.Chain, req.AlertType, "fork")), key[:12])
		st.Once = fmt.Sprintf("%x", sha256.Sum256(asked))
	}
	begun, err := h.opts.System.Start(ctx, st)
	if err != nil {
		return nil, err
	}
	out := &startOut{Status: http.StatusCreated, Location: system.Investigations + "/" + begun.ID()}
	out.Body = system.Started{ID: begun.ID(), WorkflowID: begun.Workflow, Project: req.Project, Known: begun.Known}
	if begun.Known {
		out.Status = http.StatusOK
	}
	return out, nil
}

func (h investigations) getInvestigation(ctx context.Context, in *system.ByID) (*body[system.Whole], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := system.Whole{Stages: []record.Stage{}, Executions: []record.Execution{}, Scores: []record.Score{}}
	if o.Record == nil {
		if out.Investigation, err = h.withoutRecord(ctx, o); err != nil {
			return nil, err
		}
	} else {
		w, err := h.opts.System.Outcome(ctx, o.ID)
		if err != nil {
			return nil, err
		}
		out.Investigation, out.Status = shown(w.Investigation), w.Status
		out.Stages, out.Executions = append(out.Stages, w.Stages...), append(out.Executions, w.Executions...)
		out.Scores, out.UnknownCalls = append(out.Scores, w.Scores...), w.UnknownCalls
		out.Ratings, out.Review, out.Forks = w.Ratings, w.Review, w.Forks
	}
	if brief := report.BriefOf(out.Investigation, nil); !brief.Empty() {
		out.Brief = &brief
	}
	out.Advice = report.Advice(out.Investigation, out.Stages)
	return reply(out), nil
}

// withoutRecord returns an investigation that no worker has recorded: how it ended according to Temporal, or that it is running.
func (h investigations) withoutRecord(ctx context.Context, o client.Owned) (record.Investigation, error) {
	workflowID, _ := workflows.WorkflowOf(o.ID)
	r := record.Investigation{ID: o.ID, WorkflowID: workflowID, Status: agent.StatusRunning, Labels: agent.Labels{Project: o.Project}}
	ended, err := h.unrecorded(ctx, o.ID)
	if err == nil && ended != nil {
		r.Status, r.EndReason, r.Report, r.Usage, r.Error = ended.Status, ended.EndReason, ended.Report, ended.Usage, ended.Error
		r.Envelope.NotChecked, r.Envelope.NoToolResult = ended.NotChecked, ended.NoToolResult
	}
	return r, err
}

func (h investigations) status(ctx context.Context, in *system.ByID) (*body[system.Standing], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	st, err := h.opts.System.Status(ctx, o.ID)
	st.Project = o.Project
	return reply(system.Standing{Status: st.Status, Agents: st.Agents}), err
}

func (h investigations) evidence(ctx context.Context, in *system.ByID) (*body[evidence.Evidence], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	w, err := h.opts.System.Whole(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	found, err := h.opts.System.Evidence(ctx, w)
	return reply(found), err
}

func (h investigations) getPlan(ctx context.Context, in *system.ByID) (*body[plan.Plan], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	w, err := h.opts.System.Outcome(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	p, err := h.opts.System.Plan(ctx, w)
	if errors.Is(err, record.ErrNotFound) {
		err = huma.Error404NotFound("this investigation has no plan: it ended before one was stored")
	}
	return reply(p), err
}

func (h investigations) compare(ctx context.Context, in *system.CompareIn) (*body[system.Comparison], error) {
	a, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b, err := h.owned(ctx, in.Other)
	if err != nil {
		return nil, err
	}
	found, err := report.Compare(ctx, h.opts.System, a.ID, b.ID)
	return reply(found), err
}

func (h investigations) artifacts(ctx context.Context, in *system.ByID) (*body[system.Page[artifact.Artifact]], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := h.opts.System.Artifacts(ctx, o.ID)
	return reply(system.Page[artifact.Artifact]{Items: append([]artifact.Artifact{}, all...)}), err
}

// file is content from tools. Browsers save it and never run it.
type file struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (h investigations) artifact(ctx context.Context, in *system.ArtifactIn) (*file, error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := h.opts.System.Artifacts(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(all, func(a artifact.Artifact) bool { return a.N == in.N })
	if n < 0 {
		return nil, errHidden
	}
	content, err := h.opts.System.Artifact(ctx, all[n].Ref)
	return &file{"application/octet-stream", "attachment; filename=" + strconv.QuoteToASCII(all[n].Name), content}, err
}

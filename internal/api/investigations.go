package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/report"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	base           = "/api/v1"
	investigations = base + "/investigations"
	one            = investigations + "/{id}"

	maxData = 16 << 20 // size of a request that starts an investigation, in bytes
)

func (s *Server) investigations() {
	get := func(path, id, summary string) operation {
		return operation{method: http.MethodGet, path: path, id: id, summary: summary, role: config.RoleViewer}
	}
	register(s, get(investigations, "list-investigations", "List investigations, newest first"), s.listInvestigations)
	register(s, operation{
		method: http.MethodPost, path: investigations, id: "start-investigation", role: config.RoleOperator, status: http.StatusCreated,
		summary: "Start an investigation", body: maxData,
	}, s.start)
	register(s, get(one, "get-investigation", "Read an investigation: its record, stages, agents and scores"), s.getInvestigation)
	register(s, get(one+"/status", "get-status", "Ask where an investigation stands"), s.status)
	register(s, get(one+"/evidence", "get-evidence", "Read what was found, and what of the report stands in it"), s.evidence)
	register(s, get(one+"/artifacts", "list-artifacts", "List what tools returned besides text"), s.artifacts)
	register(s, get(one+"/artifacts/{n}", "get-artifact", "Download one of them"), s.artifact)
}

// ByID is the path of one investigation.
type ByID struct {
	ID string `path:"id" maxLength:"1000" doc:"of the investigation, or its workflow id"`
}

// body is a JSON response.
type body[T any] struct{ Body T }

// owned finds an investigation that the request is allowed to use.
func (s *Server) owned(ctx context.Context, id string) (client.Owned, error) {
	o, err := s.opts.System.Owner(ctx, id)
	if err == nil {
		err = accessOf(ctx).of(o.Project)
	}
	return o, err
}

// listed is an investigation in a list.
type listed struct {
	record.Investigation
	About string `json:"about,omitempty" doc:"a line about what it investigates"`
	Score *int   `json:"score,omitempty" doc:"0 to 100, the last one"`
}

// page is one page of a list.
type page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page. An empty string means that this was the last one.
	Next string `json:"next,omitempty" doc:"give it as cursor for the next page; absent = there is none"`
}

type listIn struct {
	Status    string    `query:"status" doc:"running, completed, failed, …"`
	Chain     string    `query:"chain"`
	AlertType string    `query:"alert_type"`
	Tenant    string    `query:"tenant"`
	Session   string    `query:"session"`
	Project   string    `query:"project" doc:"only this one; absent = all that the token sees"`
	Meta      []string  `query:"meta,explode" maxItems:"20" doc:"KEY=VALUE of the metadata; may be repeated"`
	Since     time.Time `query:"since" doc:"only those that started since then"`
	NeedsMe   bool      `query:"needs_me" doc:"only those that wait for a person"`
	Search    string    `query:"q" maxLength:"200" doc:"words of their names, alert or report, or a part of a name"`
	NamesOnly bool      `query:"names_only" doc:"q is a part of their workflow id, chain or alert type"`
	Limit     int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor    string    `query:"cursor" maxLength:"2000" doc:"next of the page before"`
}

func (s *Server) listInvestigations(ctx context.Context, in *listIn) (*body[page[listed]], error) {
	filter := store.Filter{
		Status: agent.Status(in.Status), Chain: in.Chain, AlertType: in.AlertType, Tenant: in.Tenant, Session: in.Session,
		Since: in.Since, NeedsMe: in.NeedsMe, Search: in.Search, NamesOnly: in.NamesOnly, Limit: in.Limit + 1,
	}
	var err error
	if filter.Projects, err = accessOf(ctx).within(in.Project); err != nil {
		return nil, err
	}
	if in.Status != "" && !slices.Contains(append(agent.Open(), agent.Ends()...), filter.Status) {
		return nil, huma.Error422UnprocessableEntity(fmt.Sprintf("there is no status %q", in.Status))
	}
	for _, pair := range in.Meta {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, huma.Error422UnprocessableEntity("meta is KEY=VALUE")
		}
		if filter.Metadata == nil {
			filter.Metadata = map[string]string{}
		}
		filter.Metadata[key] = value
	}
	if filter.Before, err = placeOf(in.Cursor); err != nil {
		return nil, err
	}
	l, err := s.opts.System.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	if l.Remote { // Temporal's list has no projects
		return nil, client.ErrNoStore
	}
	out := page[listed]{Items: []listed{}}
	if len(l.All) > in.Limit {
		l.All = l.All[:in.Limit]
		out.Next = cursorOf(l.All[in.Limit-1])
	}
	for _, r := range l.All {
		r.Report = "" // reports would make the list large
		item := listed{Investigation: shown(r), About: l.About[r.ID]}
		if score, ok := l.Scores[r.ID]; ok {
			item.Score = &score
		}
		out.Items = append(out.Items, item)
	}
	return &body[page[listed]]{out}, nil
}

// shown fills in the project of a record if it has none.
func shown(r record.Investigation) record.Investigation {
	r.Project = cmp.Or(r.Project, agent.DefaultProject)
	return r
}

func cursorOf(r record.Investigation) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", r.StartedAt.UnixMicro(), r.ID))
}

func placeOf(cursor string) (p store.Place, err error) {
	if cursor == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(raw), " ")
	micros, wrong := strconv.ParseInt(at, 10, 64)
	if err != nil || wrong != nil || !ok || id == "" || strings.ToValidUTF8(id, "") != id || strings.Contains(id, "\x00") {
		return p, huma.Error422UnprocessableEntity("this is no cursor of ours")
	}
	return store.Place{StartedAt: time.UnixMicro(micros), ID: id}, nil
}

// startBody is the request to start an investigation.
type startBody struct {
	Project    string          `json:"project,omitempty" maxLength:"63" doc:"whose it is; absent = default, or the only one of the token"`
	Chain      string          `json:"chain,omitempty" doc:"the chain that runs"`
	AlertType  string          `json:"alert_type,omitempty" doc:"or the type of alert that says which"`
	Data       json.RawMessage `json:"data,omitempty" doc:"what is to be investigated: a text, or any JSON"`
	AllowEmpty bool            `json:"allow_empty,omitempty" doc:"there is nothing to investigate, and the chain needs nothing"`
	Attach     bool            `json:"attach,omitempty" doc:"agents are shown the beginning of large data, and read the rest in pages"`
	Provider   string          `json:"provider,omitempty" doc:"in the place of every agent's model"`
	Runbook    string          `json:"runbook,omitempty" doc:"in the place of the chain's"`
	UseMock    bool            `json:"use_mock,omitempty" doc:"mocks work in the agents' place, where the configuration names any"`
	MCP        agent.MCP       `json:"mcp,omitzero" doc:"which tools the agents may use, of those that are theirs"`
	Budgets    agent.Budgets   `json:"budgets,omitzero" doc:"bounds besides the chain's"`

	Tenant      string            `json:"tenant,omitempty" doc:"for whom it is"`
	Session     string            `json:"session,omitempty" doc:"what it belongs to"`
	Priority    int               `json:"priority,omitempty" minimum:"0" maximum:"5" doc:"1 goes first, 5 last"`
	Fingerprint string            `json:"fingerprint,omitempty" doc:"the same of requests that ask for the same"`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"facts of the caller's own"`
	Again       bool              `json:"again,omitempty" doc:"investigate, though the same is or was investigated"`
}

func (b startBody) request() agent.Request {
	return agent.Request{
		Chain: b.Chain, AlertType: b.AlertType, AllowEmpty: b.AllowEmpty, Attach: b.Attach, Provider: b.Provider, Runbook: b.Runbook,
		UseMock: b.UseMock, Again: b.Again, Overrides: agent.Overrides{MCP: b.MCP, Budgets: b.Budgets},
		Labels: agent.Labels{
			Project: b.Project, Tenant: b.Tenant, Session: b.Session, Priority: b.Priority, Fingerprint: b.Fingerprint, Metadata: b.Metadata,
		},
	}
}

type startIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and body again give the investigation that was started"`
	Body startBody
}

// started identifies an investigation.
type started struct {
	ID         string `json:"id"`
	WorkflowID string `json:"workflow_id"`
	Project    string `json:"project"`
	Known      bool   `json:"known,omitempty" doc:"it was there before: the same key, or the same fingerprint"`
}

type startOut struct {
	Status   int
	Location string `header:"Location"`
	Body     started
}

func (s *Server) start(ctx context.Context, in *startIn) (*startOut, error) {
	who, req := accessOf(ctx), in.Body.request()
	var err error
	if req.Project, err = who.owner(in.Body.Project); err != nil {
		return nil, err
	}
	if req.Chain == "" && req.AlertType == "" {
		return nil, huma.Error422UnprocessableEntity(`"chain" or "alert_type" is needed`)
	}
	req.By = who.by()
	st := client.Start{Request: req, Data: agent.Request{Data: in.Body.Data}.DataText()}
	st.Know(s.opts.Config())
	if in.Key != "" {
		asked, err := json.Marshal(in.Body)
		if err != nil {
			return nil, err
		}
		key := sha256.Sum256(fmt.Appendf(nil, "%q", []string{req.Project, who.name, in.Key}))
		st.Workflow = fmt.Sprintf("%s-%x", client.IDOf(cmp.Or(req.Chain, req.AlertType)), key[:12])
		st.Once = fmt.Sprintf("%x", sha256.Sum256(asked))
	}
	h, err := s.opts.System.Start(ctx, st)
	if err != nil {
		return nil, err
	}
	out := &startOut{http.StatusCreated, investigations + "/" + h.ID(), started{h.ID(), h.Workflow, req.Project, h.Known}}
	if h.Known {
		out.Status = http.StatusOK
	}
	return out, nil
}

// whole is an investigation with everything except its transcript.
type whole struct {
	Investigation record.Investigation `json:"investigation"`
	Stages        []record.Stage       `json:"stages"`
	Executions    []record.Execution   `json:"executions"`
	Scores        []record.Score       `json:"scores"`
	Brief         *report.Brief        `json:"brief,omitempty" doc:"the parts of the report to read first, as far as it names them"`
	Status        *workflows.Status    `json:"status,omitempty" doc:"of an investigation that has ended"`
	// UnknownCalls is client.Whole.UnknownCalls.
	UnknownCalls []transcript.UnknownCall `json:"unknown_calls,omitempty" doc:"tool calls that may or may not have taken effect"`
}

func (s *Server) getInvestigation(ctx context.Context, in *ByID) (*body[whole], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := whole{Stages: []record.Stage{}, Executions: []record.Execution{}, Scores: []record.Score{}}
	if o.Record == nil {
		workflowID, _ := workflows.WorkflowOf(o.ID)
		r := record.Investigation{ID: o.ID, WorkflowID: workflowID, Status: agent.StatusRunning, Labels: agent.Labels{Project: o.Project}}
		if ended, err := s.unrecorded(ctx, o.ID); err != nil {
			return nil, err
		} else if ended != nil {
			r.Status, r.EndReason, r.Report, r.Usage, r.Error = ended.Status, ended.EndReason, ended.Report, ended.Usage, ended.Error
		}
		out.Investigation = r
		return &body[whole]{out}, nil
	}
	w, err := s.opts.System.Outcome(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	out.Investigation, out.Status = shown(w.Investigation), w.Status
	out.Stages, out.Executions = append(out.Stages, w.Stages...), append(out.Executions, w.Executions...)
	out.Scores, out.UnknownCalls = append(out.Scores, w.Scores...), w.UnknownCalls
	if brief := report.BriefOf(w.Investigation.Report, nil); !brief.Empty() {
		out.Brief = &brief
	}
	return &body[whole]{out}, nil
}

// unrecorded returns how an investigation ended before any worker took it, which leaves no record. Nil means that it is running and was
// just started.
func (s *Server) unrecorded(ctx context.Context, id string) (*client.Result, error) {
	h, err := s.opts.System.Find(ctx, id)
	if err != nil || h.Running() {
		return nil, err
	}
	out, err := s.opts.System.Await(ctx, h)
	return &out, err
}

// standing is the current state of an investigation.
type standing struct {
	workflows.Status
	Agents map[string]workflows.AgentStatus `json:"agents,omitempty" doc:"what the agents that run do, by their workflow ids"`
}

func (s *Server) status(ctx context.Context, in *ByID) (*body[standing], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	st, err := s.opts.System.Status(ctx, o.ID)
	st.Project = o.Project
	return &body[standing]{standing{st.Status, st.Agents}}, err
}

// store returns the workers' store, or ErrNoStore.
func (s *Server) store(ctx context.Context) (*store.Store, error) {
	st, err := s.opts.System.Store(ctx)
	if err == nil && st == nil {
		err = client.ErrNoStore
	}
	return st, err
}

func (s *Server) evidence(ctx context.Context, in *ByID) (*body[evidence.Evidence], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	w, err := s.opts.System.Whole(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	found, err := s.opts.System.Evidence(ctx, w)
	return &body[evidence.Evidence]{found}, err
}

func (s *Server) artifacts(ctx context.Context, in *ByID) (*body[page[artifact.Artifact]], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.opts.System.Artifacts(ctx, o.ID)
	return &body[page[artifact.Artifact]]{page[artifact.Artifact]{Items: append([]artifact.Artifact{}, all...)}}, err
}

type artifactIn struct {
	ByID
	N int `path:"n" minimum:"1" doc:"its number in the list"`
}

// file is content from tools. Browsers save it and never run it.
type file struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (s *Server) artifact(ctx context.Context, in *artifactIn) (*file, error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.opts.System.Artifacts(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(all, func(a artifact.Artifact) bool { return a.N == in.N })
	if n < 0 {
		return nil, errHidden
	}
	content, err := s.opts.System.Artifact(ctx, all[n].Ref)
	return &file{"application/octet-stream", "attachment; filename=" + strconv.QuoteToASCII(all[n].Name), content}, err
}

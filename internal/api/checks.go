package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// checks registers the operations that check a request before it is started and those that show what people have done.
func (s *Server) checks() {
	register(s, operation{method: http.MethodPost, path: investigations + "/check", id: "check-request", role: config.RoleOperator,
		body: maxData, summary: "Look at the request of an investigation as its start would, and start nothing"}, s.checkRequest)
	register(s, operation{method: http.MethodGet, path: one + "/acts", id: "list-acts", role: config.RoleViewer,
		summary: "List what people decided, said and changed in an investigation, in order"}, s.acts)
	register(s, operation{method: http.MethodGet, path: base + "/about", id: "get-about", role: config.RoleViewer,
		summary: "Say who asks, what he may, and where Temporal's UI is"}, s.about)
}

// checked is the outcome of checking a request.
type checked struct {
	Chain    string         `json:"chain,omitempty" doc:"the chain that would run"`
	Project  string         `json:"project"`
	Stages   []checkedStage `json:"stages,omitempty"`
	Size     int            `json:"size" doc:"bytes of the data"`
	Data     string         `json:"data,omitempty" doc:"the beginning of the data as agents would be shown them, masked"`
	Problems []string       `json:"problems" doc:"why it would not start; none = it would"`
}

type checkedStage struct {
	Name   string   `json:"name"`
	Agents []string `json:"agents" doc:"each with its model, or with the selector that names it"`
}

// withModel returns the name of an agent and its model.
func withModel(a plan.Agent) string {
	switch {
	case len(a.Providers) == 0:
		return a.Name
	case a.Providers[0].Type == config.ProviderSelector:
		return a.Name + " · selector " + a.Providers[0].Model
	}
	return a.Name + " · " + a.Providers[0].Model
}

// shownOfData is how much of a request's data a check shows, in bytes.
const shownOfData = 16 << 10

func (s *Server) checkRequest(ctx context.Context, in *struct{ Body startBody }) (*body[checked], error) {
	req, cfg := in.Body.request(), s.opts.Config()
	var err error
	if req.Project, err = accessOf(ctx).owner(in.Body.Project); err != nil {
		return nil, err
	}
	text := agent.Request{Data: in.Body.Data}.DataText()
	out := checked{Project: req.Project, Size: len(text), Problems: []string{}}
	problem := func(err error) {
		if err != nil {
			out.Problems = append(out.Problems, strings.Split(err.Error(), "\n")...)
		}
	}
	problem(req.Validate())
	problem(req.CheckData(text, cfg.MaxData()))
	switch chain, _ := cfg.Dedup(req); { // errors of the plan would list the chains of all projects
	case req.Chain == "" && req.AlertType == "":
		problem(errors.New(`"chain" or "alert_type" is needed`))
	case !cfg.ChainIn(chain, req.Project) && !strings.HasPrefix(chain, config.OfAgent):
		problem(fmt.Errorf("the project %s has no chain for it", req.Project))
	default:
		p, err := s.plan(ctx, cfg, req)
		if err != nil && !errors.As(err, new(*config.PlanError)) {
			return nil, err
		}
		problem(err)
		out.Chain = p.Chain
		for _, stage := range p.Stages {
			one := checkedStage{Name: stage.Name, Agents: []string{}}
			for _, a := range stage.Agents {
				one.Agents = append(one.Agents, withModel(a))
			}
			out.Stages = append(out.Stages, one)
		}
	}
	masker, err := mask.Of(cfg.AlertMasking())
	if err == nil && masker != nil {
		text, err = masker.Text(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	out.Data = strings.ToValidUTF8(text[:min(len(text), shownOfData)], "")
	return &body[checked]{out}, nil
}

// plan returns the plan that a worker would make.
func (s *Server) plan(ctx context.Context, cfg *config.Config, req agent.Request) (plan.Plan, error) {
	return app.Plan(ctx, cfg, made{s}, req)
}

// made looks up agents made at run time. Without a store it finds none, and the plan of a chain that needs one fails.
type made struct{ *Server }

func (m made) VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error) {
	st, err := m.opts.System.Store(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	return st.VirtualAgents(ctx, project, names...)
}

type actsIn struct {
	ByID
	After int64 `query:"after" minimum:"0" doc:"the n of the last act that is known"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

// actsPage is a page of the acts in an investigation.
type actsPage struct {
	Items []audit.Act `json:"items"`
	Next  int64       `json:"next,omitempty" doc:"give it as after for the next ones; absent = there are none now"`
}

func (s *Server) acts(ctx context.Context, in *actsIn) (*body[actsPage], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := actsPage{Items: []audit.Act{}}
	err = s.opts.System.Acts(ctx, store.ActFilter{Investigation: o.ID, After: in.After, Limit: in.Limit + 1}, func(act audit.Act) error {
		if len(out.Items) == in.Limit {
			out.Next = out.Items[in.Limit-1].N
			return nil
		}
		out.Items = append(out.Items, act)
		return nil
	})
	return &body[actsPage]{out}, err
}

// aboutBody tells a client its own identity and where to find things.
type aboutBody struct {
	Name       string            `json:"name"`
	Roles      map[string]string `json:"roles" doc:"by project; * = all"`
	TemporalUI string            `json:"temporal_ui,omitempty" doc:"the list of workflows there; absent = nobody has said where it is"`
}

func (s *Server) about(ctx context.Context, _ *struct{}) (*body[aboutBody], error) {
	who := accessOf(ctx)
	out := aboutBody{Name: who.name, Roles: map[string]string{}, TemporalUI: s.opts.TemporalUI}
	for project, r := range who.grants {
		for role, n := range rank {
			if n == r {
				out.Roles[project] = role
			}
		}
	}
	return &body[aboutBody]{out}, nil
}

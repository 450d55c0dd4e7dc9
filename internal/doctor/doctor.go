// Package doctor checks and tries a configuration: Temporal, the store, models, MCP servers, tools, and the versions of programs. Its
// checks use the same adapters as workers.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/workflows"
)

// Level is the severity of a finding.
type Level string

// The levels, best first.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // it works, but not as well as it could
	LevelFail Level = "fail" // it does not work
)

// Finding is the result of one check of Examine.
type Finding struct {
	Level  Level  `json:"level"`
	What   string `json:"what"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // a command, if there is one
}

// Examination selects what Examine checks.
type Examination struct {
	// Temporal holds the client's options, including the keys that decrypt what Temporal stores.
	Temporal  client.Options
	TaskQueue string
	Store     store.Options
	// Config is the configuration; nil means that it is invalid and thus not checked. ConfigPath is its file or folder, for commands; an
	// empty string means the built-in one.
	Config     *configuration.Config
	ConfigPath string
	Toolbox    *Toolbox
	// Online sends each model a small request, which costs a few tokens.
	Online bool
	// Patience is the timeout of each check.
	Patience time.Duration
}

// maxSkew is the tolerated difference between clocks. It is small compared with a deadline of a minute.
const maxSkew = 5 * time.Second

// Examine runs all checks concurrently and changes nothing. A check that does not answer in time is also a finding.
func Examine(ctx context.Context, e Examination) (all []Finding) {
	e.Temporal.Namespace = cmp.Or(e.Temporal.Namespace, client.DefaultNamespace)
	e.Temporal.HostPort = cmp.Or(e.Temporal.HostPort, client.DefaultHostPort)
	looks := []look{{"Temporal", e.temporal}, {"store", e.database}}
	if e.Config != nil {
		needs := e.Config.Needs()
		for _, p := range needs.Models {
			keyless := map[bool]Level{false: LevelFail, true: LevelWarn}[needs.BuiltIn] // built-in ones were not requested
			looks = append(looks, look{"model " + p.Name, func(ctx context.Context) seen { return of(e.model(ctx, p, keyless)) }})
		}
		for _, s := range needs.Servers {
			looks = append(looks, look{"server " + s.Name, func(ctx context.Context) seen { return of(e.server(ctx, s)) }})
		}
	}
	found := make([]seen, len(looks))
	var group sync.WaitGroup
	for n, l := range looks {
		group.Go(func() { found[n] = e.within(ctx, l) })
	}
	group.Wait()
	for _, s := range found {
		all = append(all, s.findings...)
	}
	return append(all, sharedStore(found[1].store, found[0].fleet)...)
}

// look is one check.
type look struct {
	what string
	at   func(ctx context.Context) seen
}

// seen is the result of a check.
type seen struct {
	findings []Finding
	store    store.Health        // that this host uses
	fleet    workflows.FleetMemo // that the workers share
}

func of(findings ...Finding) seen { return seen{findings: findings} }

// within stops waiting after the timeout even for a check that ignores its context.
func (e Examination) within(ctx context.Context, l look) seen {
	ctx, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	found := make(chan seen, 1)
	go func() { found <- l.at(ctx) }()
	select {
	case s := <-found:
		return s
	case <-time.After(e.Patience + e.Patience/10):
		return of(Finding{LevelFail, l.what, e.noAnswer(), e.waitLonger()})
	}
}

// temporal checks the server and its workers.
func (e Examination) temporal(ctx context.Context) (s seen) {
	address, namespace := e.Temporal.HostPort, e.Temporal.Namespace
	c, err := dial.Temporal(ctx, e.Temporal)
	if err != nil {
		return of(Finding{LevelFail, "Temporal", fmt.Sprintf("%s cannot be used: %v", address, err),
			"go run ./dev" + e.configFlag() + ", or export TEMPORAL_ADDRESS=HOST:PORT"})
	}
	defer c.Close()
	version := "unknown version"
	if info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); err == nil {
		version = cmp.Or(info.GetServerVersion(), version)
	}
	add := func(f ...Finding) { s.findings = append(s.findings, f...) }
	add(Finding{Level: LevelOK, What: "Temporal", Found: fmt.Sprintf("%s at %s", version, address)})
	if _, err := app.NamespaceID(ctx, c, namespace); err != nil {
		remedy := "starter doctor --namespace NAME, or export TEMPORAL_API_KEY=…"
		if _, none := errors.AsType[*serviceerror.NamespaceNotFound](err); none {
			remedy = "temporal operator namespace create -n " + namespace
		}
		add(Finding{LevelFail, "namespace", words(err), remedy})
		return s
	}
	add(Finding{Level: LevelOK, What: "namespace", Found: namespace}, e.attributes(ctx, c))
	add(e.queue(ctx, c, e.TaskQueue, LevelFail)...)
	if e.Config != nil {
		for _, queue := range e.Config.TaskQueues() {
			add(e.queue(ctx, c, queue, LevelWarn)...)
		}
	}
	s.fleet, _, err = app.FleetStore(ctx, c, e.Temporal.DataConverter, e.TaskQueue)
	if err != nil {
		add(Finding{LevelWarn, "fleet's store", words(err), "export INQUEST_ENCRYPTION_KEYS=… with the workers' value"})
	}
	return s
}

func (e Examination) attributes(ctx context.Context, c client.Client) Finding {
	f := Finding{Level: LevelOK, What: "search attributes", Found: "registered"}
	lacking, err := app.MissingAttributes(ctx, c, e.Temporal.Namespace)
	switch {
	case err != nil:
		f.Level, f.Found = LevelWarn, "cannot check whether Temporal has them: "+words(err)
	case len(lacking) > 0:
		f.Level, f.Found = LevelWarn, "Temporal cannot search investigations by "+strings.Join(lacking, ", ")
		f.Remedy = "start a worker, which registers them, or: temporal operator search-attribute create"
		for _, name := range lacking {
			f.Remedy += " --name " + name + " --type " + app.AttributeType(name)
		}
		f.Remedy += " --namespace " + e.Temporal.Namespace
	}
	return f
}

// queue checks the pollers of a task queue. missing is the level of a finding without pollers.
func (e Examination) queue(ctx context.Context, c client.Client, queue string, missing Level) []Finding {
	what := "workers of " + queue
	kind := enumspb.TASK_QUEUE_TYPE_WORKFLOW
	if queue != e.TaskQueue { // its workers only run tools
		kind = enumspb.TASK_QUEUE_TYPE_ACTIVITY
	}
	described, err := c.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return []Finding{{LevelFail, what, words(err), e.waitLonger()}}
	}
	var workers []string
	var last time.Time
	for _, p := range described.GetPollers() {
		worker := p.GetIdentity()
		if v := p.GetDeploymentOptions().GetBuildId(); v != "" {
			worker += " (version " + v + ")"
		}
		workers = append(workers, worker)
		if at := p.GetLastAccessTime().AsTime(); at.After(last) {
			last = at
		}
	}
	if len(workers) == 0 {
		remedy := "worker --config DIR --store STORE --task-queue " + queue
		if queue == workflows.TaskQueue {
			remedy += ", or go run ./dev"
		}
		return []Finding{{missing, what, "no worker polls the task queue " + queue, remedy}}
	}
	slices.Sort(workers)
	workers = slices.Compact(workers)
	all := []Finding{{Level: LevelOK, What: what, Found: fmt.Sprintf("%d: %s", len(workers), strings.Join(workers, ", "))}}
	// A worker polls at least once a minute, and Temporal's clock supplies the time.
	switch ago := time.Since(last); {
	case ago < -maxSkew:
		all = append(all, skewed("Temporal", -ago))
	case ago > time.Minute+15*time.Second:
		all = append(all, Finding{LevelWarn, what, fmt.Sprintf(
			"the last poll was %s ago: the workers have stopped, or the clock here is ahead of Temporal's", ago.Round(time.Second)),
			"look at the workers' logs, then: timedatectl set-ntp true"})
	}
	return all
}

func skewed(whose string, ahead time.Duration) Finding {
	where := "ahead of"
	if ahead < 0 {
		where = "behind"
	}
	return Finding{LevelWarn, "clock", fmt.Sprintf("the clock of %s is %s %s the clock here", whose, ahead.Abs().Round(time.Second), where),
		"timedatectl set-ntp true"}
}

// database checks the store without creating it.
func (e Examination) database(ctx context.Context) seen {
	h, err := store.Examine(ctx, e.Store)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return of(Finding{LevelWarn, "store", fmt.Sprintf("no store at %s: starter can show only what Temporal knows", e.Store), theirStore})
	case errors.Is(err, store.ErrCleartext):
		return of(Finding{LevelFail, "store", err.Error(), withTLS})
	case err != nil:
		return of(Finding{LevelFail, "store", err.Error(), theirStore})
	}
	f := Finding{Level: LevelOK, What: "store", Found: fmt.Sprintf("%s (store %s, schema %d)", e.Store, h.ID, h.Schema)}
	switch {
	case h.Required > h.Known:
		f.Level, f.Remedy = LevelFail, "install the workers' version (starter version prints this program's version)"
		f.Found += fmt.Sprintf(": it requires schema %d, but this program supports only %d", h.Required, h.Known)
	case h.Schema > h.Known:
		f.Level, f.Remedy = LevelWarn, "finish the upgrade: docs/how-to/upgrade.md"
		f.Found += fmt.Sprintf(": a newer program has expanded it; this program supports %d and can still use it", h.Known)
	case h.Schema < h.Known:
		f.Level, f.Remedy = LevelWarn, "start a worker of this version, which migrates the store"
		f.Found += fmt.Sprintf(": this program has schema %d", h.Known)
	case h.Secrecy != store.Verified:
		f.Level, f.Remedy = LevelWarn, withTLS
		f.Found += ": " + string(h.Secrecy)
	}
	s := seen{findings: []Finding{f}, store: h}
	if h.Ahead.Abs() > maxSkew {
		s.findings = append(s.findings, skewed("the database", h.Ahead))
	}
	for _, key := range slices.SortedFunc(maps.Keys(h.Circuits), circuit.Key.Compare) {
		open := h.Circuits[key]
		if time.Now().Add(h.Ahead).Sub(open.Next) > time.Hour {
			continue // the model is no longer in use
		}
		s.findings = append(s.findings, Finding{LevelWarn, "circuit of " + key.String(), open.String(),
			"starter doctor --online tests it; the circuit closes when a worker's probe succeeds"})
	}
	return s
}

// sharedStore compares the store with the fleet's, if both are known.
func sharedStore(h store.Health, memo workflows.FleetMemo) []Finding {
	switch {
	case h.ID == "" || memo.ID == "":
		return nil
	case h.ID != memo.ID:
		return []Finding{{LevelFail, "fleet's store", fmt.Sprintf("the workers use a different store: %s (store %s)", memo.Address, memo.ID),
			theirStore}}
	}
	return []Finding{{Level: LevelOK, What: "fleet's store", Found: "same as this store"}}
}

// model checks the key of a model and, with Online, calls the model.
func (e Examination) model(ctx context.Context, p plan.Provider, keyless Level) Finding {
	f := Finding{Level: LevelOK, What: "model " + p.Name, Found: cmp.Or(p.APIKeyEnv, "needs no key")}
	if problem := e.Config.KeyProblem(p); problem != "" {
		f.Level, f.Found, f.Remedy = keyless, problem, fmt.Sprintf("export %s=…", cmp.Or(p.APIKeyEnv, "NAME"))
		return f
	}
	if p.APIKeyEnv != "" {
		f.Found += " is set"
	}
	if !e.Online || p.Type == config.ProviderScripted || p.Type == config.ProviderProgram {
		return f
	}
	models := app.NewModels(e.Config.LookupEnv, nil, e.Toolbox.opts.Logger)
	var answer llm.Response
	m, err := models.Client(p, plan.Timeouts{StreamIdle: plan.Duration(e.Patience)})
	if err == nil {
		ask := llm.Request{Model: p.Model, Messages: []agent.Message{{Role: agent.User, Content: "Reply with the word ok."}}}
		answer, err = m.Generate(ctx, ask, func(llm.Delta) {})
	}
	if err != nil {
		f.Level, f.Found, f.Remedy = LevelFail, err.Error(), e.show()+": check the provider's type, base_url and model"
		switch {
		case ctx.Err() != nil:
			f.Found, f.Remedy = e.noAnswer(), e.waitLonger()
		case errors.Is(err, llm.ErrAuth) && p.APIKeyEnv == "":
			f.Remedy = fmt.Sprintf("set llm_providers.%s.api_key_env to the name of the variable with the API key", p.Name)
		case errors.Is(err, llm.ErrAuth):
			f.Remedy = fmt.Sprintf("export %s=… with a valid key", p.APIKeyEnv)
		case errors.Is(err, llm.ErrInvalidRequest):
			f.Remedy = fmt.Sprintf("check the model of %s: does the provider have %s?", p.Name, p.Model)
		}
		return f
	}
	f.Found += fmt.Sprintf("; %s answered (%d tokens)", cmp.Or(answer.Model, p.Model), answer.Usage.Tokens())
	return f
}

// server starts or connects to an MCP server and lists its tools. A server with dedicated workers need not be reachable from here.
func (e Examination) server(ctx context.Context, s plan.Server) Finding {
	f := Finding{Level: LevelOK, What: "server " + s.Name}
	transport, err := e.Config.Transport(s.Name)
	if err != nil {
		f.Level, f.Found, f.Remedy = LevelFail, err.Error(), "export the variable for the workers and here"
		return f
	}
	tools, err := e.Toolbox.list(ctx, s)
	switch {
	case partial(err):
		f.Level, f.Found = LevelWarn, fmt.Sprintf("%s; %s", terminal.Count(len(tools), "tool"), err)
		f.Remedy = "update the server, or report the error to its authors"
	case err != nil && s.TaskQueue != "":
		f.Level, f.Found, f.Remedy = LevelWarn, err.Error()+" (from here)", "run starter doctor on a host of the workers of "+s.TaskQueue
	case err != nil:
		f.Level, f.Found, f.Remedy = LevelFail, err.Error(), e.remedy(s.Name, transport, err)
	default:
		f.Found = terminal.Count(len(tools), "tool")
		e.behind(ctx, s, transport, tools, &f)
	}
	return f
}

// behind runs the health check of a server's pack, because the server can list its tools without the system behind it.
func (e Examination) behind(ctx context.Context, s plan.Server, t config.Transport, tools []tool.Spec, f *Finding) {
	p, ok := pack.Of(t.Command, t.Args, t.URL)
	name := s.Name + "." + p.Check.Tool
	if !ok || !slices.ContainsFunc(tools, func(spec tool.Spec) bool { return spec.Name == name }) {
		return
	}
	masker, err := mask.Of(s.Masking)
	var result tool.Result
	if err == nil {
		result, err = e.Toolbox.pool.Call(ctx, tool.Call{Name: name, Arguments: []byte(p.Check.Arguments), Class: tool.Safe})
	}
	if err == nil {
		failure := failureOf(p.Check, result)
		if failure == "" {
			f.Found += "; " + p.Check.Answers
			return
		}
		err = errors.New(activities.MaskWords(ctx, masker, failure))
	}
	said, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	f.Level, f.Remedy = LevelFail, remedyOf(p, t)
	f.Found += fmt.Sprintf("; %s failed: %s", p.Check.Tool, clip.Line(said, 300))
}

// failureOf says why a result does not show that the system answers. An empty string means that it does.
func failureOf(c pack.Check, r tool.Result) string {
	switch {
	case r.Status != tool.StatusSuccess:
		return r.Content
	case !strings.HasPrefix(r.Content, c.Begins):
		return "unexpected answer: " + r.Content
	}
	return ""
}

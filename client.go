package inquest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"reflect"

	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// The errors of a Client. Compare with errors.Is.
var (
	// ErrNoStore means that the content is in the workers' store, which this client cannot reach.
	ErrNoStore = system.ErrNoStore
	// ErrNotFound means that no investigation or conversation has this id.
	ErrNotFound = record.ErrNotFound
	// ErrEnded means that the investigation has ended and can no longer be steered.
	ErrEnded = system.ErrEnded
	// ErrRefused means that the investigation rejected the request. The error says why.
	ErrRefused = system.ErrRefused
	// ErrTooLate means that nothing waits for this answer or decision.
	ErrTooLate = system.ErrTooLate
	// ErrNotTaken means that no worker accepted the request within ten seconds. A worker may still accept it later.
	ErrNotTaken = system.ErrNotTaken
	// ErrPending means that a worker accepted the request but has no result yet. The request takes effect, so do not
	// repeat it.
	ErrPending = system.ErrPending
)

// ClientOptions configure a Client.
type ClientOptions struct {
	// Temporal, TaskQueue and Store are the same as the workers': see Options. A client that cannot reach their store
	// knows only what Temporal knows, which includes no transcripts.
	Temporal  *sdk.Options
	TaskQueue string
	Store     string
	// Config is the workers' configuration. It decides how request data is masked and how large it may be. An empty
	// string means the built-in configuration.
	Config string
	// By names the requesting user. An empty string means this process, as Temporal names it.
	By string
}

// Client starts, follows and steers investigations, and talks with agents. It reconnects when necessary. Its methods
// are safe for concurrent use. An id is one that Start returned, or a workflow id.
type Client struct {
	system *client.Client
	config *configuration.Config
	by     string
}

// NewClient checks the options and connects to Temporal. Call Close when you are done.
func NewClient(ctx context.Context, opts ClientOptions) (*Client, error) {
	var where app.HostOptions
	if err := errors.Join(place(&where, opts.Store), dial(&where, opts.Temporal)); err != nil {
		return nil, err
	}
	cfg, err := configuration.Load(configuration.Source{Dir: opts.Config, Env: command.Env(where.Data), SkipCredentials: true})
	if err != nil {
		return nil, err
	}
	keys, err := payload.LoadKeys(os.Getenv)
	if err != nil {
		return nil, err
	}
	at, err := where.StoreOptions(cfg)
	if err != nil && !errors.Is(err, app.ErrNoStore) {
		return nil, err
	}
	c := &Client{config: cfg, by: opts.By, system: client.New(client.Options{
		Temporal:  func() (sdk.Options, payload.Keys, error) { return where.Temporal, keys, nil },
		TaskQueue: cmp.Or(opts.TaskQueue, workflows.TaskQueue), Store: at,
	})}
	if err := c.system.Dial(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the client's connections. Investigations keep running.
func (c *Client) Close() error { return c.system.Close() }

// Start starts an investigation and returns its id. It returns an error if the request itself is invalid. A chain that
// does not exist is found later by a worker and reported in the result. If the same request is running or has been
// investigated (Request.Fingerprint), Start returns the id of that investigation.
func (c *Client) Start(ctx context.Context, r Request) (id string, err error) {
	id, _, err = c.StartOne(ctx, r)
	return id, err
}

// StartOne works like Start and also reports whether the investigation existed already.
func (c *Client) StartOne(ctx context.Context, r Request) (id string, known bool, err error) {
	s, err := r.start(c.by)
	if err != nil {
		return "", false, err
	}
	s.Know(c.config)
	h, err := c.system.Start(ctx, s)
	if err != nil {
		return "", false, err
	}
	return h.ID(), h.Known, nil
}

// Status returns the current state of an investigation, running or ended.
func (c *Client) Status(ctx context.Context, id string) (Status, error) {
	s, err := c.system.Status(ctx, id)
	return *statusOf(s), err
}

// Await waits until an investigation has ended, for as long as that takes. A failed investigation is reported in the
// result, not as an error. For an ended investigation, the only possible error is an unreadable report
// (ErrNoStore).
func (c *Client) Await(ctx context.Context, id string) (Ending, error) {
	h, err := c.system.Find(ctx, id)
	if err != nil {
		return Ending{}, err
	}
	out, err := c.system.Await(ctx, h)
	if err == nil {
		err = c.system.Text(ctx, &out.Report, out.ReportRef)
	}
	return *endingOf(out), err
}

// Follow returns an iterator over what has happened in an investigation since it began, and then over what happens
// until it ends. The last event holds the result, with an error if the report cannot be read. Without the workers'
// store there are no transcript entries. Breaking out of the loop only stops following.
func (c *Client) Follow(ctx context.Context, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := errors.New("the loop was left")
		var last *Status
		send := func(e Event) error {
			if e.Status != nil && reflect.DeepEqual(e.Status, last) {
				return nil
			}
			if last = cmp.Or(e.Status, last); !yield(e, nil) {
				return left
			}
			return nil
		}
		h, err := c.system.Find(ctx, id)
		var out system.Result
		if err == nil {
			out, err = c.system.Follow(ctx, h, 0, func(e system.Event) error { return each(e, send) })
		}
		switch {
		case errors.Is(err, left):
		case err != nil:
			yield(Event{}, err)
		default:
			err = c.system.Text(ctx, &out.Report, out.ReportRef)
			yield(Event{Ending: endingOf(out)}, err)
		}
	}
}

// each calls send for every event in one update of the store.
func each(e system.Event, send func(Event) error) error {
	if e.Status != nil {
		return send(Event{Status: statusOf(*e.Status)})
	}
	u := cmp.Or(e.Update, &store.Update{})
	for _, row := range u.Entries {
		entry := &Entry{
			Seq: row.Seq, Execution: row.Execution, Iteration: row.Iteration, Kind: string(row.Kind), At: row.At,
			Text: row.Text, Superseded: row.Superseded,
		}
		if row.Call != nil {
			entry.Tool, entry.Arguments = row.Call.Name, row.Call.Arguments
		}
		if err := send(Event{Entry: entry}); err != nil {
			return err
		}
	}
	if u.Record == nil {
		return nil
	}
	s := system.Status{Status: client.StatusOf(*u.Record, u.Stages, u.Executions)}
	if u.Waits != nil {
		s.WaitsFor(*u.Waits)
	}
	return send(Event{Status: statusOf(s)})
}

// Guide adds text to the next model call of all running agents, or of the next agent if none is running.
func (c *Client) Guide(ctx context.Context, id, text string, to Target) error {
	return c.steer(ctx, id, workflows.SignalGuide, workflows.Guide{Text: text, Stage: to.Stage, Agent: to.Agent, By: c.by})
}

// Pause stops new model calls until Resume. Calls in progress finish.
func (c *Client) Pause(ctx context.Context, id string) error {
	return c.steer(ctx, id, workflows.SignalPause, workflows.By{By: c.by})
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, id string) error {
	return c.steer(ctx, id, workflows.SignalResume, workflows.By{By: c.by})
}

// Conclude makes an investigation, or a part of it, finish now with its results so far.
func (c *Client) Conclude(ctx context.Context, id string, who Target) error {
	return c.steer(ctx, id, workflows.SignalConclude, workflows.Conclude{Stage: who.Stage, Agent: who.Agent, By: c.by})
}

// steer sends a signal for a worker to accept. If no worker answers, the signal stays with Temporal until one does.
func (c *Client) steer(ctx context.Context, id, name string, in any) error {
	_, err := c.system.Steer(ctx, id, name, in)
	return err
}

// Artifacts lists the non-text results of an investigation's tools. It needs access to the workers' store.
func (c *Client) Artifacts(ctx context.Context, id string) (out []Artifact, err error) {
	all, err := c.system.Artifacts(ctx, id)
	for _, a := range all {
		out = append(out, Artifact{Ref: a.Ref, Name: a.Name, MIMEType: a.MIMEType, Size: a.Size, Execution: a.Execution, Tool: a.Tool})
	}
	return out, err
}

// Artifact reads one artifact by the Ref from Artifacts or a HookInput. Text is masked; images are as the tool returned
// them.
func (c *Client) Artifact(ctx context.Context, ref string) ([]byte, error) {
	return c.system.Artifact(ctx, ref)
}

// Cancel requests cancellation of an investigation. Its finished work is kept.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.system.Cancel(ctx, id)
	return err
}

// Extend raises the limits of an investigation. It cannot add a limit where there was none.
func (c *Client) Extend(ctx context.Context, id string, e Extension) error {
	_, err := c.system.Extend(ctx, id, workflows.ExtendBudget{
		Extension: plan.Extension{LLMCalls: e.LLMCalls, Tokens: e.Tokens, CostUSD: e.CostUSD}, Duration: plan.Duration(e.Duration), By: c.by,
	})
	return err
}

// Answer answers a question that an investigation asked.
func (c *Client) Answer(ctx context.Context, id string, r Response) error {
	_, err := c.system.Answer(ctx, id, workflows.Answer{
		ID: r.Question, Text: r.Text, Approved: r.Approved, Decision: r.Decision, Data: r.Data, By: c.by,
	})
	return err
}

// Decide approves or denies a pending tool call, identified by its name in the status.
func (c *Client) Decide(ctx context.Context, id, call string, v Verdict) error {
	d := workflows.Decide{CallID: call, Approved: &v.Approve, Reason: v.Reason, Digest: v.Digest, By: c.by}
	if c.by != "" { // the program vouches for its user
		d.Identity = &client.Identity{Name: c.by, Channel: agent.ChannelProgram}
	}
	_, err := c.system.Decide(ctx, id, d)
	return err
}

// Conversation is a thread with an agent. It stays open until it is closed.
type Conversation struct {
	client        *Client
	thread, agent string
}

// Converse returns the conversation of a thread. The caller chooses the thread's id, which becomes the workflow id. The
// first call of Say begins the conversation with the named agent. If agent is empty, the conversation must already be
// open.
func (c *Client) Converse(thread, agent string) *Conversation {
	return &Conversation{client: c, thread: thread, agent: agent}
}

// Conversations lists the open threads, newest first.
func (c *Client) Conversations(ctx context.Context) (threads []string, err error) {
	open, err := c.system.Threads(ctx, "", 0)
	for _, t := range open {
		threads = append(threads, t.Thread)
	}
	return threads, err
}

// Say sends text to the agent and waits for its reply, for as long as that takes.
func (v *Conversation) Say(ctx context.Context, text string) (Reply, error) {
	reply, err := v.client.system.Say(ctx, system.Words{Thread: v.thread, Agent: v.agent, Text: text, By: v.client.by}, nil)
	if err == nil {
		err = v.client.system.Text(ctx, &reply.Text, reply.TextRef)
	}
	return Reply{Text: reply.Text, StopReason: string(reply.StopReason), Iterations: reply.Iterations, Usage: Usage(reply.Usage)}, err
}

// Close ends the conversation after the current turn.
func (v *Conversation) Close(ctx context.Context) error {
	return v.client.system.CloseThread(ctx, v.thread)
}

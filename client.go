package inquest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"reflect"

	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// The kinds of error of a Client.
var (
	// ErrNoStore: what is asked for is in the workers' store, which is not at hand.
	ErrNoStore = client.ErrNoStore
	// ErrNotFound: there is no such investigation or conversation.
	ErrNotFound = record.ErrNotFound
	// ErrEnded: it has ended, and cannot be steered.
	ErrEnded = client.ErrEnded
	// ErrRefused: the investigation has said no; the error says why.
	ErrRefused = client.ErrRefused
	// ErrTooLate: nobody waits for it any more.
	ErrTooLate = client.ErrTooLate
	// ErrNotTaken: no worker has taken it within ten seconds. One may yet.
	ErrNotTaken = client.ErrNotTaken
	// ErrPending: a worker has taken it, and has no result yet. It counts: do not repeat it.
	ErrPending = client.ErrPending
)

// ClientOptions say where the system is that a Client uses.
type ClientOptions struct {
	// Temporal, TaskQueue and Store are those of the workers: see Options. Without their
	// store at hand, a client knows what Temporal knows: no transcripts.
	Temporal  *sdk.Options
	TaskQueue string
	Store     string
	// Config is the workers' configuration, which says what of a request's data is masked
	// and how much it may be; "" = what is built in.
	Config string
	// By is who asks and steers; "" = the process, as Temporal names it.
	By string
}

// Client starts investigations, follows and steers them, and talks with agents. It
// connects when it has to. Its methods may be called by any number of goroutines; ids
// are those that Start returns, or workflow ids.
type Client struct {
	system *client.Client
	config *config.Config
	by     string
}

// NewClient checks the options and connects to Temporal. Close the client in the end.
func NewClient(ctx context.Context, opts ClientOptions) (*Client, error) {
	var where app.HostOptions
	if err := errors.Join(place(&where, opts.Store), dial(&where, opts.Temporal)); err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Source{Dir: opts.Config, Env: command.Env(where.Data), SkipCredentials: true})
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

// Close ends the client's connections, and nothing else.
func (c *Client) Close() error { return c.system.Close() }

// Start starts an investigation and returns its id. An error says what is wrong with the request itself; that its
// chain does not exist is found by a worker, and is in the result. If the same runs or was investigated
// (Request.Fingerprint), Start returns the id of that one.
func (c *Client) Start(ctx context.Context, r Request) (id string, err error) {
	id, _, err = c.StartOne(ctx, r)
	return id, err
}

// StartOne is Start, and says whether the investigation was there before.
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

// Status says where an investigation stands, running or ended.
func (c *Client) Status(ctx context.Context, id string) (Status, error) {
	s, err := c.system.Status(ctx, id)
	return *statusOf(s), err
}

// Await waits until an investigation has ended, as long as it takes. How it ended is in the result and is no error; an
// ended one fails only if its report cannot be read (ErrNoStore).
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

// Follow tells what has happened in an investigation from its beginning, and then what
// happens, until it has ended: the last event has its result, and an error if its report cannot be
// read. Without the workers' store there are no entries. The loop may be left at any time, which ends nothing else.
func (c *Client) Follow(ctx context.Context, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := errors.New("the loop was left")
		var last *Status
		tell := func(e Event) error {
			if e.Status != nil && reflect.DeepEqual(e.Status, last) {
				return nil
			}
			if last = cmp.Or(e.Status, last); !yield(e, nil) {
				return left
			}
			return nil
		}
		h, err := c.system.Find(ctx, id)
		var out client.Result
		if err == nil {
			out, err = c.system.Follow(ctx, h, 0, func(e client.Event) error { return each(e, tell) })
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

// each tells the events that are in one of the store's updates.
func each(e client.Event, tell func(Event) error) error {
	if e.Status != nil {
		return tell(Event{Status: statusOf(*e.Status)})
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
		if err := tell(Event{Entry: entry}); err != nil {
			return err
		}
	}
	if u.Record == nil {
		return nil
	}
	s := client.Status{Status: client.StatusOf(*u.Record, u.Stages, u.Executions)}
	if u.Waits != nil {
		s.WaitsFor(*u.Waits)
	}
	return tell(Event{Status: statusOf(s)})
}

// Guide puts words before the next model call of all agents that run, or else of the next.
func (c *Client) Guide(ctx context.Context, id, text string, to Target) error {
	return c.steer(ctx, id, workflows.SignalGuide, workflows.Guide{Text: text, Stage: to.Stage, Agent: to.Agent, By: c.by})
}

// Pause has no further model call made until Resume; running calls finish.
func (c *Client) Pause(ctx context.Context, id string) error {
	return c.steer(ctx, id, workflows.SignalPause, workflows.By{By: c.by})
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, id string) error {
	return c.steer(ctx, id, workflows.SignalResume, workflows.By{By: c.by})
}

// Conclude has an investigation, or a part of it, finish now with what is known.
func (c *Client) Conclude(ctx context.Context, id string, who Target) error {
	return c.steer(ctx, id, workflows.SignalConclude, workflows.Conclude{Stage: who.Stage, Agent: who.Agent, By: c.by})
}

// steer is taken by a worker; where none answers, it waits with Temporal for one.
func (c *Client) steer(ctx context.Context, id, name string, in any) error {
	_, err := c.system.Steer(ctx, id, name, in)
	return err
}

// Artifacts lists what the tools of an investigation have returned besides text. It needs the
// workers' store at hand.
func (c *Client) Artifacts(ctx context.Context, id string) (out []Artifact, err error) {
	all, err := c.system.Artifacts(ctx, id)
	for _, a := range all {
		out = append(out, Artifact{Ref: a.Ref, Name: a.Name, MIMEType: a.MIMEType, Size: a.Size, Execution: a.Execution, Tool: a.Tool})
	}
	return out, err
}

// Artifact reads one artifact by its Ref, which Artifacts or a HookInput has given. Texts are masked; images are as
// the tool returned them.
func (c *Client) Artifact(ctx context.Context, ref string) ([]byte, error) {
	return c.system.Artifact(ctx, ref)
}

// Cancel asks for the end of an investigation; what it has finished is kept.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.system.Cancel(ctx, id)
	return err
}

// Extend raises the bounds of an investigation. It adds no bound where there was none.
func (c *Client) Extend(ctx context.Context, id string, e Extension) error {
	_, err := c.system.Extend(ctx, id, workflows.ExtendBudget{
		Extension: plan.Extension{LLMCalls: e.LLMCalls, Tokens: e.Tokens, CostUSD: e.CostUSD}, Duration: plan.Duration(e.Duration), By: c.by,
	})
	return err
}

// Answer answers a question of an investigation.
func (c *Client) Answer(ctx context.Context, id string, r Response) error {
	_, err := c.system.Answer(ctx, id, workflows.Answer{
		ID: r.Question, Text: r.Text, Approved: r.Approved, Decision: r.Decision, Data: r.Data, By: c.by,
	})
	return err
}

// Decide approves or denies a tool call that waits, by its name in the status.
func (c *Client) Decide(ctx context.Context, id, call string, v Verdict) error {
	d := workflows.Decide{CallID: call, Approved: &v.Approve, Reason: v.Reason, Digest: v.Digest, By: c.by}
	if c.by != "" { // the program says who uses it
		d.Identity = &client.Identity{Name: c.by, Channel: agent.ChannelProgram}
	}
	_, err := c.system.Decide(ctx, id, d)
	return err
}

// Conversation is a thread with an agent, which lives on until it is closed.
type Conversation struct {
	client        *Client
	thread, agent string
}

// Converse returns the conversation of a thread. The caller chooses the thread's id, which becomes the workflow id.
// The first words that are said begin the conversation with the agent of that name; if agent is "", the conversation
// has to be open.
func (c *Client) Converse(thread, agent string) *Conversation {
	return &Conversation{client: c, thread: thread, agent: agent}
}

// Conversations lists the threads that are open, newest first.
func (c *Client) Conversations(ctx context.Context) (threads []string, err error) {
	open, err := c.system.Threads(ctx, "", 0)
	for _, t := range open {
		threads = append(threads, t.Thread)
	}
	return threads, err
}

// Say says something and waits for the agent's reply, as long as it takes.
func (v *Conversation) Say(ctx context.Context, text string) (Reply, error) {
	reply, err := v.client.system.Say(ctx, client.Words{Thread: v.thread, Agent: v.agent, Text: text, By: v.client.by}, nil)
	if err == nil {
		err = v.client.system.Text(ctx, &reply.Text, reply.TextRef)
	}
	return Reply{Text: reply.Text, StopReason: string(reply.StopReason), Iterations: reply.Iterations, Usage: Usage(reply.Usage)}, err
}

// Close ends the conversation, after the running turn.
func (v *Conversation) Close(ctx context.Context) error {
	return v.client.system.CloseThread(ctx, v.thread)
}

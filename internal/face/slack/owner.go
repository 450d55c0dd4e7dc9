package slack

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/lease"
	"github.com/inquest-dev/inquest/internal/record"
)

// owner is the process that holds the lease. It carries out inputs and keeps threads up to date.
type owner struct {
	*Face
	group sync.WaitGroup
	ended chan func() // removes what has ended from lanes and threads

	lanes   map[string]bool // lanes whose inputs are being carried out
	threads map[string]bool // investigations that are being followed
}

// own works until ctx ends, with the requests to Slack that are under way.
func (f *Face) own(ctx context.Context) {
	o := &owner{Face: f, ended: make(chan func()), lanes: map[string]bool{}, threads: map[string]bool{}}
	news, stop := f.opts.Store.ChatNews()
	defer stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		o.look(ctx)
		select {
		case <-ctx.Done():
		case <-news:
		case remove := <-o.ended:
			remove()
		case <-tick.C:
		}
	}
	o.group.Wait()
}

// look starts new inputs.
func (o *owner) look(ctx context.Context) {
	threads, err := o.opts.Store.ChatThreads(ctx)
	inputs, inputErr := o.opts.Store.ChatInputs(ctx)
	if err != nil || inputErr != nil {
		return // the next tick looks again
	}
	for _, t := range threads {
		o.start(ctx, o.threads, t.Investigation, func() { o.keepThread(ctx, t) })
	}
	lanes := map[string][]record.ChatInput{}
	for _, in := range inputs {
		lanes[in.Lane] = append(lanes[in.Lane], in)
	}
	for lane, inputs := range lanes {
		o.start(ctx, o.lanes, lane, func() {
			for _, in := range inputs {
				if !o.carryOut(ctx, in) {
					return
				}
			}
		})
	}
}

// start runs work under a key unless some is running.
func (o *owner) start(ctx context.Context, running map[string]bool, key string, work func()) {
	if running[key] {
		return
	}
	running[key] = true
	o.group.Go(func() {
		work()
		select {
		case o.ended <- func() { delete(running, key) }:
		case <-ctx.Done():
		}
	})
}

// giveUp is how old an input is at most when it is carried out. People do not expect a click to have an effect much later.
const giveUp = 15 * time.Minute

// carryOut carries out an input, and tries again while the system or Slack is away. It returns false if ctx has ended.
func (o *owner) carryOut(ctx context.Context, row record.ChatInput) bool {
	var in input
	if err := json.Unmarshal([]byte(row.Body), &in); err != nil {
		o.opts.Logger.ErrorContext(ctx, "cannot read an input from Slack", "id", row.ID, "error", err)
		return o.finish(ctx, row)
	}
	do := func() error { return o.act(ctx, row.ID, in, time.Since(row.At) > giveUp) }
	if in.Kind == inputAlert {
		do = o.announced(ctx, in, row.At)
	}
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := do()
		if err == nil {
			return o.finish(ctx, row)
		}
		if ctx.Err() != nil {
			return false
		}
		if !errors.Is(err, errNotYet) {
			o.opts.Logger.WarnContext(ctx, "retrying an input from Slack", "id", row.ID, "kind", in.Kind, "error", err)
		}
		if !lease.Sleep(ctx, wait) {
			return false
		}
	}
}

func (o *owner) finish(ctx context.Context, row record.ChatInput) bool {
	err := o.opts.Store.ChatInputDone(ctx, row.ID)
	return err == nil || lease.Sleep(ctx, time.Second) // it is carried out again, with the same key
}

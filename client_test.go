package inquest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/system"
)

// temporal starts Temporal in this process, and says where it and a store are.
func temporal(ctx context.Context) (where inquest.ClientOptions, stop func(), err error) {
	dir, err := os.MkdirTemp("", "inquest")
	if err != nil {
		return where, nil, err
	}
	server, err := devserver.Start(ctx, devserver.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		return where, nil, errors.Join(err, os.RemoveAll(dir))
	}
	where = inquest.ClientOptions{
		Temporal: &client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))},
		Store:    filepath.Join(dir, "store.db"), By: "Ada",
	}
	return where, func() {
		server.Stop()
		if err := os.RemoveAll(dir); err != nil {
			log.Print(err)
		}
	}, nil
}

// serve starts Temporal and a worker with these options.
func serve(ctx context.Context, opts inquest.Options) (where inquest.ClientOptions, stop func(), err error) {
	where, stopTemporal, err := temporal(ctx)
	if err != nil {
		return where, nil, err
	}
	opts.Temporal, opts.Store, opts.Logger = where.Temporal, where.Store, slog.New(slog.DiscardHandler)
	w, err := inquest.NewWorker(ctx, opts)
	if err != nil {
		stopTemporal()
		return where, nil, err
	}
	working, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(working) }()
	return where, func() {
		end()
		if err := <-done; err != nil {
			log.Print(err)
		}
		stopTemporal()
	}, nil
}

// shop starts Temporal and a worker that makes refunds after a person's approval.
func shop(ctx context.Context) (where inquest.ClientOptions, stop func(), err error) {
	says := func(output map[string]any) inquest.Hook {
		return func(context.Context, inquest.HookInput) (inquest.HookOutput, error) {
			return inquest.HookOutput{Output: output}, nil
		}
	}
	stage := func(name, next string) *inquest.Stage {
		return &inquest.Stage{Name: name, Agents: []*inquest.StageAgent{{Name: "Till"}}, Flow: inquest.Flow{PostProcess: name, DefaultNext: next}}
	}
	return serve(ctx, inquest.Options{
		Hooks: map[string]inquest.Hook{"check": says(map[string]any{"question": "Refund 40 EUR?"}),
			"refund": says(map[string]any{"refunded": 40})},
		Agents: map[string]*inquest.Agent{
			"Till": {Type: "service"},
		},
		Chains: map[string]*inquest.Chain{"refund": {
			Stages:     []*inquest.Stage{stage("check", "confirmation"), stage("refund", "end")},
			Interrupts: config.Interrupts{ConfirmationResumeStage: "refund"},
		}},
	})
}

// A program starts an investigation, follows it, answers its question, and reads its report.
func ExampleClient() {
	ctx := context.Background()
	where, stop, err := shop(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	c, err := inquest.NewClient(ctx, where)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.Start(ctx, inquest.Request{Chain: "refund", Data: "order 1001 came broken"})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Follow(ctx, id) {
		switch {
		case err != nil:
			log.Fatal(err)
		case event.Status != nil && len(event.Status.Questions) > 0:
			fmt.Println(event.Status.Questions[0].Text)
			if err := c.Answer(ctx, id, inquest.Response{Approved: new(true)}); err != nil {
				log.Fatal(err)
			}
		case event.Ending != nil:
			fmt.Println(event.Ending.Status, event.Ending.Report)
		}
	}
	// Output:
	// Refund 40 EUR?
	// completed {"refunded":40}
}

// TestClient checks that an ended investigation can be read but not steered, and that Follow starts from its beginning.
func TestClient(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	where, stop, err := shop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	c, err := inquest.NewClient(ctx, where)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if id, err := c.Start(ctx, inquest.Request{Chain: "refund"}); err == nil {
		t.Errorf("a request without data is started: %s", id)
	}
	nothing, err := c.Start(ctx, inquest.Request{Data: "x"}) // only the workers know the default chain
	if err != nil {
		t.Fatal(err)
	}
	if end, err := c.Await(ctx, nothing); err != nil || end.Status != "refused" {
		t.Errorf("a request for no chain ends with %+v, %v", end, err)
	}
	id, err := c.Start(ctx, inquest.Request{WorkflowID: "no", Chain: "refund", Data: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(ctx, inquest.Request{WorkflowID: "no", Chain: "refund", Data: "x"}); err == nil {
		t.Error("an id that is in use is taken")
	}
	for event, err := range c.Follow(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Status == nil || len(event.Status.Questions) == 0 {
			continue
		}
		if err := c.Answer(ctx, "no", inquest.Response{Question: "nothing"}); !errors.Is(err, system.ErrRefused) {
			t.Errorf("an answer to nothing: %v", err)
		}
		if err := c.Answer(ctx, "no", inquest.Response{Approved: new(false), Text: "too dear"}); err != nil {
			t.Fatal(err)
		}
		break // does not affect the investigation
	}
	end, err := c.Await(ctx, "no")
	if err != nil || end.ID != id || end.EndReason != "denied" {
		t.Errorf("%+v, %v", end, err)
	}
	status, err := c.Status(ctx, id)
	want := []inquest.StageStatus{{Name: "check", Status: "completed",
		Agents: []inquest.AgentStatus{{Name: "Till", Status: "completed", Iterations: 1}}}, {Name: "refund", Status: "skipped"}}
	if diff := cmp.Diff(want, status.Stages); diff != "" || err != nil || status.EndReason != end.EndReason {
		t.Errorf("%+v, %v (-want +got):\n%s", status, err, diff)
	}
	var last inquest.Event
	for event, err := range c.Follow(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		last = event
	}
	if diff := cmp.Diff(&end, last.Ending); diff != "" {
		t.Errorf("the last event (-want +got):\n%s", diff)
	}
	for what, err := range map[string]error{
		"guide": c.Guide(ctx, id, "be kind", inquest.Target{}), "pause": c.Pause(ctx, id), "cancel": c.Cancel(ctx, id),
		"decide": c.Decide(ctx, id, "c1_0", inquest.Verdict{}), "extend": c.Extend(ctx, id, inquest.Extension{Tokens: 1}),
	} {
		if !errors.Is(err, system.ErrEnded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.Status(ctx, "nobody"); !errors.Is(err, inquest.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if err := c.Converse("nobody", "").Close(ctx); !errors.Is(err, inquest.ErrNotFound) {
		t.Errorf("no conversation: %v", err)
	}
}

package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// aTemporal is a real one, in this process.
func aTemporal(t *testing.T) client.Options {
	t.Helper()
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return client.Options{HostPort: server.Address(), DataConverter: converter.GetDefaultDataConverter(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))}
}

func dial(t *testing.T, opts client.Options) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// What runs is asked for all at once.
func TestOpenInvestigations(t *testing.T) {
	t.Parallel()
	c := dial(t, aTemporal(t))
	want := map[string]string{}
	for id, kind := range map[string]string{
		"a": workflows.TypeInvestigation, "b": workflows.TypeInvestigation, "ended": workflows.TypeInvestigation, "fleet": workflows.TypeFleet,
	} {
		options := client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}
		run, err := c.ExecuteWorkflow(t.Context(), options, kind, map[string]string{"chain": "c"})
		if err != nil {
			t.Fatal(err)
		}
		if kind == workflows.TypeInvestigation && id != "ended" {
			want[id] = run.GetRunID()
		}
	}
	if err := c.TerminateWorkflow(t.Context(), "ended", "", "test"); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) { // the list is late
		got, err := runs{client: c, namespace: client.DefaultNamespace}.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// A worker that was there before the fleet's mark stops when it finds that it has another store.
func TestStoreThatTurnsOutToBeAnother(t *testing.T) {
	t.Parallel()
	where := aTemporal(t)
	host := func(name string) *Host {
		content, err := store.Open(t.Context(), store.At(filepath.Join(t.TempDir(), name)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { content.Close() })
		return &Host{Client: dial(t, where), Store: content, where: store.At(name), opts: HostOptions{Temporal: where, TemporaryStore: true, TaskQueue: "tools"}}
	}
	early, fleet := host("early.db"), host("fleet.db")
	ctx, cancel := context.WithCancel(t.Context())
	found, kept := make(chan error, 1), make(chan error, 1)
	go func() { found <- early.watchFleet(ctx, 10*time.Millisecond) }()
	go func() { kept <- fleet.watchFleet(ctx, 10*time.Millisecond) }()
	if err := fleet.markFleet(t.Context(), "tools", workflows.TaskQueue); err != nil {
		t.Fatal(err)
	}
	if err := <-found; !errors.Is(err, ErrOtherStore) || !strings.Contains(err.Error(), "fleet.db") {
		t.Errorf("the early worker: %v", err)
	}
	cancel()
	if err := <-kept; err != nil {
		t.Errorf("a worker of the fleet: %v", err)
	}
}

// Workers of two namespaces, or of two Temporals, do not share a store.
func TestStoreOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	here, there := aTemporal(t), aTemporal(t)
	_, err := dial(t, here).WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: "other", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	other := here
	other.Namespace = "other"
	content, err := store.Open(t.Context(), store.At(filepath.Join(t.TempDir(), "store.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { content.Close() })
	join := func(where client.Options, adopt bool) error {
		h := Host{Client: dial(t, where), Store: content, opts: HostOptions{Temporal: where, AdoptStore: adopt}}
		for { // a namespace that was just registered is not known everywhere
			err := h.joinNamespace(t.Context())
			if err == nil || !strings.Contains(err.Error(), "is not found") {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for n, tt := range []struct {
		where client.Options
		adopt bool
		fails string
	}{
		{here, false, ""}, {here, false, ""}, {other, false, `this one is that of namespace "default" (id `},
		{there, false, "--adopt-store"}, {there, true, ""}, {here, false, "one namespace of one Temporal"},
	} {
		err := join(tt.where, tt.adopt)
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

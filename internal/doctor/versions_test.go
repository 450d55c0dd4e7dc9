package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// TestCheckVersions checks deployments of two releases, on a real Temporal server.
func TestCheckVersions(t *testing.T) {
	t.Parallel()
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	file := filepath.Join(t.TempDir(), "inquest.db")
	content, err := store.Open(t.Context(), store.At(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { content.Close() })
	const change = "2026-11-25-of-the-test"
	dial := func(identity string) client.Client {
		c, err := client.Dial(client.Options{
			HostPort: server.Address(), Identity: identity, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	work := func(identity string, announces bool, changes ...string) {
		w := worker.New(dial(identity), workflows.TaskQueue, worker.Options{})
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
			workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1)
			return workflow.Sleep(ctx, time.Hour)
		}, workflow.RegisterOptions{Name: "changed"})
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		if announces {
			this := app.ThisProgram()
			this.Identity, this.Version, this.Commit, this.Changes = identity, "0.2", "", changes
			if err := content.AnnounceWorker(t.Context(), this); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		until := time.Now().Add(time.Minute) // Temporal lists pollers and changes with a delay
		for {
			got = nil
			for _, f := range CheckVersions(t.Context(), Examination{
				Temporal: client.Options{HostPort: server.Address()}, TaskQueue: workflows.TaskQueue, Store: store.At(file),
				Patience: 10 * time.Second,
			}) {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Level, f.What, f.Found))
			}
			missing := slices.IndexFunc(want, func(line string) bool {
				return !slices.ContainsFunc(got, func(found string) bool { return strings.HasPrefix(found, line) })
			})
			if missing < 0 {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("no finding %q:\n%s", want[missing], strings.Join(got, "\n"))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	lacking := Examination{Temporal: client.Options{Namespace: "default"}}.attributes(t.Context(), dial("anyone"))
	if !strings.Contains(lacking.Remedy, " --name InquestScore --type Int ") || !strings.HasSuffix(lacking.Remedy, " --namespace default") {
		t.Errorf("%+v", lacking)
	}
	check("ok this program: ", "ok store: schema ", "ok server: Temporal 1.", "warn workers: no worker polls")
	work("old@host@", false)
	check("ok workers: 1 worker, inquest 0.1: schema 26, plans up to version 4")
	work("new@host@", true, change)
	check("ok workers: 1 worker, inquest 0.1: ", "ok workers: 1 worker, inquest 0.2: ", "warn workers: 2 versions share the task queue")
	options := client.StartWorkflowOptions{TaskQueue: workflows.TaskQueue}
	if _, err := dial("test").ExecuteWorkflow(t.Context(), options, "changed"); err != nil {
		t.Fatal(err)
	}
	check("warn running workflows: 1 running workflow recorded the change " + change + "; workers that do not support it: 1 of 2")
	this := app.ThisProgram()
	this.Identity, this.Changes = "new@host@", nil
	if err := content.AnnounceWorker(t.Context(), this); err != nil {
		t.Fatal(err)
	}
	check("fail running workflows: 1 running workflow recorded the change " + change + "; no worker supports this change")
	contract(t, file, 999)
	check("fail store: schema 999; programs must support 999, but this program supports only ", "fail workers: 1 worker, inquest 0.1: ")
}

// contract changes a store like a later release that requires programs to know a schema.
func contract(t *testing.T, file string, schema int64) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const statement = `INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, 1)`
	if _, err := db.ExecContext(context.Background(), statement, schema); err != nil {
		t.Fatal(err)
	}
}

package payload_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
)

const queue = "payload-test"

// echo makes an activity return its argument.
func echo(ctx workflow.Context, text string) (said string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	err = workflow.ExecuteActivity(ctx, say, text).Get(ctx, &said)
	return said, err
}

func say(_ context.Context, text string) (string, error) { return text, nil }

func dial(t *testing.T, server *devserver.Server, storage converter.ExternalStorage) client.Client {
	t.Helper()
	opts := client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ExternalStorage: storage}
	c, err := client.DialContext(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Texts that Temporal would refuse pass through a workflow and an activity and back, and the history stays small.
func TestStorage(t *testing.T) {
	t.Parallel()
	server, err := devserver.Start(t.Context(), devserver.Options{Listen: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := storetest.Open(t)
	c, reader, plain := dial(t, server, payload.Storage(s)), dial(t, server, payload.Reading(s)), dial(t, server, converter.ExternalStorage{})
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(echo)
	w.RegisterActivity(say)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)

	for name, size := range map[string]int{"small": 1000, "large": payload.Threshold + 1, "too large for Temporal": 5 << 20} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("x", size)
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, echo, text)
			if err != nil {
				t.Fatal(err)
			}
			var said string
			if err := run.Get(t.Context(), &said); err != nil || said != text {
				t.Fatalf("%d bytes come back, want %d: %v", len(said), size, err)
			}
			if err := reader.GetWorkflow(t.Context(), run.GetID(), "").Get(t.Context(), &said); err != nil || said != text {
				t.Errorf("who only reads gets %d bytes, want %d: %v", len(said), size, err)
			}
			if n := historySize(t, plain, run.GetID()); n > payload.Threshold {
				t.Errorf("history has %d bytes", n)
			}
		})
	}

	t.Run("who only reads keeps nothing", func(t *testing.T) {
		run, err := reader.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, echo,
			strings.Repeat("x", payload.Threshold+1))
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if n := historySize(t, plain, run.GetID()); n < payload.Threshold {
			t.Errorf("history has %d bytes: the input is not in it", n)
		}
	})
}

// historySize returns the size of a history as the server stores it.
func historySize(t *testing.T, c client.Client, id string) (bytes int) {
	t.Helper()
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		bytes += proto.Size(event)
	}
	return bytes
}

// An unavailable store is an error, not an empty payload.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "inquest.db")})
	if err != nil {
		t.Fatal(err)
	}
	driver := payload.Storage(s).Drivers[0]
	storing := converter.StorageDriverStoreContext{Context: t.Context()}
	retrieving := converter.StorageDriverRetrieveContext{Context: t.Context()}
	claims, err := driver.Store(storing, []*common.Payload{{Data: []byte("kept")}})
	if err != nil {
		t.Fatal(err)
	}
	unknown := converter.StorageDriverClaim{ClaimData: map[string]string{"blob": "absent"}}
	if _, err := driver.Retrieve(retrieving, append(claims, unknown)); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a payload that is not there: %v", err)
	}
	s.Close()
	if _, err := driver.Store(storing, []*common.Payload{{Data: []byte("new")}}); err == nil {
		t.Error("kept by a store that is closed")
	}
	if _, err := driver.Retrieve(retrieving, claims); err == nil {
		t.Error("got from a store that is closed")
	}
}

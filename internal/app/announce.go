package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// ThisProgram returns the announcement of a worker of this program, without its identity.
func ThisProgram() record.Worker {
	w := record.Worker{Version: "unknown", Schema: store.KnownSchema(), Plan: plan.Version, Changes: workflows.Changes}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return w
	}
	w.Version = cmp.Or(info.Main.Version, "(devel)")
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			w.Commit = setting.Value[:min(len(setting.Value), 12)]
		}
	}
	return w
}

// identity names the process in Temporal, like the SDK's default.
func identity() string {
	name, _ := os.Hostname()
	return fmt.Sprintf("%d@%s@", os.Getpid(), cmp.Or(name, "Unknown"))
}

// announce records in the store which program the host runs. Failures are only logged: the check of an upgrade then counts the host
// as a worker that does not announce itself.
func (h *Host) announce(ctx context.Context) {
	if h.opts.TemporaryStore {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	w := ThisProgram()
	w.Identity = h.opts.Temporal.Identity
	if err := h.Store.AnnounceWorker(ctx, w); err != nil {
		h.opts.Logger.Warn("cannot announce this worker in the store: starter version --check will count it as an older worker", "error", err)
	}
}

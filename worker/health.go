package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/inquest-dev/inquest/internal/command"
)

// health answers an orchestrator's probes: alive while the process runs, ready from the first poll to the start of the drain.
type health struct {
	ready  atomic.Bool
	server *http.Server
}

// listen serves the probes. Without an address it serves none.
func listen(address string, logger *slog.Logger) (*health, error) {
	mux := http.NewServeMux()
	h := &health{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	if address == "" {
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &command.UsageError{Err: fmt.Errorf("--health: %w", err)}
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	go func() {
		if err := h.server.Serve(listener); err != http.ErrServerClosed {
			logger.Error("the server for probes stopped", "error", err)
		}
	}()
	return h, nil
}

// Package devserver runs a complete Temporal (server and UI) in this process, on one SQLite file.
//
// It is for one person or a small team on one host. All parts that a production cluster spreads over machines (frontend, history,
// matching, system workers, database) are behind one address, without authentication. Acknowledged writes survive a kill -9: the
// file is written with synchronous=full, and a new process on the same directory continues where the old one stopped.
package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/temporal"
)

// Namespace is the server's only namespace, besides Temporal's own.
const Namespace = "default"

const (
	readyTimeout = 2 * time.Minute // a busy machine needs more than half a minute; a person can press Ctrl-C
	stopTimeout  = 5 * time.Second // with open long polls, Temporal's own drains take up to 4 s
)

// Options says where the server keeps its data and where it listens.
type Options struct {
	Dir    string // data directory, created if absent: temporal.db, LOCK, VERSION
	Listen string // host:port of the frontend, e.g. 127.0.0.1:7233; port 0 picks a free one
	UI     string // host:port of the UI; "" means no UI, port 0 picks a free one

	// UINames are host names of the UI for browsers, besides localhost and its addresses. Requests with any other host name are
	// refused (see webguard).
	UINames []string

	// Logger gets the server's warnings and errors while it runs. The many unimportant messages during startup and shutdown, and
	// all information, are logged at debug level. Nil discards everything.
	Logger *slog.Logger
}

// Server is a running Temporal. Stop ends it.
type Server struct {
	logger *logger
	lock   *dirLock
	stop   sync.Once

	// Set by start, in this order. Stop ends those that are set.
	data   *data
	addr   addresses
	server temporal.Server
	ui     *http.Server
}

// Start returns once the frontend serves and the namespace is usable. ctx bounds only the start.
//
// The error is an *AddressInUseError for an address in use, a *LockedError for a directory in use, and a *SchemaError for a
// directory with tables of another Temporal version that this one cannot read.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Dir == "" {
		return nil, errors.New("data directory is missing")
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, logger: newLogger(opts.Logger)}
	if err := s.start(ctx, dir, opts); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, dir string, opts Options) error {
	var err error
	if s.data, err = openData(ctx, dir); err != nil {
		return err
	}
	if s.addr, err = pickAddresses(opts.Listen, opts.UI); err != nil {
		return err
	}
	if err := s.startServer(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := waitForNamespace(ctx, s.Address()); err != nil {
		return err
	}
	if s.addr.ui != nil {
		if s.ui, err = startUI(s.addr.ui, s.Address(), opts.UINames); err != nil {
			return err
		}
	}
	s.logger.started()
	return s.data.markVersion()
}

func (s *Server) startServer() error {
	server, err := temporal.NewServer(serverOptions(s.addr, s.data.sql, s.logger)...)
	if err != nil {
		return fmt.Errorf("build the Temporal server: %w", err)
	}
	s.server = server // on an error, the interface holds a nil pointer
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	return nil
}

// Address is the host:port that clients and workers dial.
func (s *Server) Address() string { return dialAddress(s.addr.frontend) }

// UIAddress is the host:port of the UI; empty without one.
func (s *Server) UIAddress() string {
	if s.addr.ui == nil {
		return ""
	}
	return dialAddress(s.addr.ui)
}

// Stop drains the server, for at most about five seconds (usually one), and releases the data directory. Stop workers and close
// clients first, or they will log errors about a missing server. A second call does nothing.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.logger.stopping()
		if s.ui != nil {
			_ = s.ui.Close()
		}
		if s.server != nil {
			s.stopServer()
			s.data.checkpoint()
		}
		s.lock.release()
	})
}

func (s *Server) stopServer() {
	done := make(chan error, 1)
	go func() { done <- s.server.Stop() }()
	select {
	case err := <-done:
		if err != nil {
			s.logger.log.Warn("the Temporal server did not stop cleanly", "error", err)
		}
	case <-time.After(stopTimeout):
		s.logger.log.Warn("the Temporal server is still stopping; not waiting any longer", "after", stopTimeout)
	}
}

// waitForNamespace returns once the frontend answers for the namespace.
func waitForNamespace(ctx context.Context, address string) error {
	c, err := client.NewLazyClient(client.Options{
		HostPort: address,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return fmt.Errorf("dial the Temporal server: %w", err)
	}
	defer c.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the Temporal server: %w", err)
		case <-tick.C:
		}
	}
}

package devserver_test

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/devserver"
)

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, devserver.Options{Dir: dir})
	_, err := devserver.Start(t.Context(), devserver.Options{Dir: dir, Listen: "127.0.0.1:0"})
	var locked *devserver.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("second server: %v, want a LockedError", err)
	}
	if diff := cmp.Diff(&devserver.LockedError{Dir: dir, PID: os.Getpid()}, locked); diff != "" {
		t.Error(diff)
	}
	s.Stop()
	start(t, devserver.Options{Dir: dir})
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken := l.Addr().String()
	for name, tc := range map[string]struct {
		opts devserver.Options
		want *devserver.AddressInUseError
	}{
		"listen": {
			opts: devserver.Options{Listen: taken, UI: "127.0.0.1:0"},
			want: &devserver.AddressInUseError{What: "listen", Addr: taken},
		},
		"ui": {
			opts: devserver.Options{Listen: "127.0.0.1:0", UI: taken},
			want: &devserver.AddressInUseError{What: "ui", Addr: taken},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.opts.Dir = t.TempDir()
			_, err := devserver.Start(t.Context(), tc.opts)
			var got *devserver.AddressInUseError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an AddressInUseError", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			tc.opts.Listen, tc.opts.UI = "127.0.0.1:0", ""
			start(t, tc.opts) // the failed start keeps no addresses
		})
	}
}

//go:build unix

package app

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/devserver"
)

// Whatever the umask is, only the owner can read our files: Temporal's database, the store, the sample incident, an imported agent.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: filepath.Join(data, "temporal"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	host, err := StartHost(t.Context(), HostOptions{
		Temporal: client.Options{HostPort: server.Address(), Namespace: client.DefaultNamespace}, Data: data,
		DefaultStore: filepath.Join(data, "inquest.db"), Settings: Settings{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configuration.WriteAgent(configuration.Source{Dir: data, SkipCredentials: true}, "Clerk",
		json.RawMessage(`{"description":"files"}`)); err != nil {
		t.Error(err)
	}
	seen := 0
	look := func() {
		err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("others may use %s: %v", path, info.Mode())
			}
			seen++
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	look() // including the files that SQLite adds
	if err := host.Stop(); err != nil {
		t.Error(err)
	}
	server.Stop()
	look()
	if seen < 20 {
		t.Errorf("only %d files", seen)
	}
}

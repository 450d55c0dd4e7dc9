package devserver_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/server/common/headers"

	"github.com/inquest-dev/inquest/internal/devserver"
)

func TestOtherSchema(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  string
		version string
		want    error
	}{
		"same tables": {
			change: `CREATE TABLE x(y); DROP TABLE x`, version: "1.31.0\n",
		},
		"a column more": {
			change: `ALTER TABLE executions ADD COLUMN later_invention INT`, version: "1.99.0\n",
			want: &devserver.SchemaError{Written: "1.99.0", Running: headers.ServerVersion},
		},
		"a table less": {
			change: `DROP TABLE nexus_endpoints`,
			want:   &devserver.SchemaError{Running: headers.ServerVersion},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			start(t, devserver.Options{Dir: dir}).Stop()
			alter(t, dir, tc.change)
			writeVersion(t, dir, tc.version)

			s, err := devserver.Start(t.Context(), devserver.Options{Dir: dir, Listen: "127.0.0.1:0"})
			if err == nil {
				s.Stop()
			}
			var got error
			if se := (*devserver.SchemaError)(nil); errors.As(err, &se) {
				se.Dir = ""
				got = se
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func alter(t *testing.T, dir, stmt string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "temporal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), stmt); err != nil {
		t.Fatal(err)
	}
}

func writeVersion(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(version), 0o600); err != nil {
		t.Fatal(err)
	}
}

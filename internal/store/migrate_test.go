package store_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/store"
)

// release is a program of some release: its migrations, and its required one.
type release struct {
	migrations []string
	required   int64
}

// The migrations of three releases: the second one expands the schema, and the third one contracts it.
var (
	first  = release{[]string{"00001"}, 1}
	second = release{[]string{"00001", "00002"}, 1}
	third  = release{[]string{"00001", "00002", "00003", "00004"}, 3}
)

func (r release) files() fs.FS {
	statements := map[string]string{
		"00001": "CREATE TABLE notes (body TEXT NOT NULL)", "00002": "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT ''",
		"00003": "ALTER TABLE notes DROP COLUMN body", "00004": "ALTER TABLE notes ADD COLUMN day TEXT",
	}
	files := fstest.MapFS{}
	for _, number := range r.migrations {
		files[number+"_x.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + statements[number] + ";\n")}
	}
	return files
}

// TestReleasesShareAStore opens one store with several releases in turn. An expanded store still works with the older release; a
// contracted one refuses it.
func TestReleasesShareAStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before []release
		opens  release
		newer  bool
	}{
		"an upgrade":                         {[]release{first}, second, false},
		"a rollback after an expansion":      {[]release{first, second}, first, false},
		"a rollback of a new store":          {[]release{second}, first, false},
		"forward after a rollback":           {[]release{first, second, first}, second, false},
		"an upgrade to a contraction":        {[]release{first, second}, third, false},
		"an upgrade that skips a release":    {[]release{first}, third, false},
		"an older program, a contraction":    {[]release{first, second, third}, second, true},
		"a much older one, a contraction":    {[]release{first, second, third}, first, true},
		"a much older one, a contracted new": {[]release{third}, first, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "store.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, r := range test.before {
				if err := store.Migrate(t.Context(), db, r.files(), r.required); err != nil {
					t.Fatal(err)
				}
			}
			err = store.Migrate(t.Context(), db, test.opens.files(), test.opens.required)
			if errors.Is(err, store.ErrNewerSchema) != test.newer || (err == nil) == test.newer {
				t.Errorf("error %v, want a refusal: %t", err, test.newer)
			}
		})
	}
}

// contracts matches statements that break a program of the previous release.
var contracts = regexp.MustCompile(`(?i)\bDROP\s+(TABLE|COLUMN)|\bRENAME\b|\bALTER\s+COLUMN\b|` +
	`\bADD\s+COLUMN\s+(\w+\s+)+NOT\s+NULL\s*[,;]|\bADD\s+(CONSTRAINT|CHECK|UNIQUE)\b`)

// TestMigrationsOnlyExpand checks that no migration above the required one removes anything that older programs need.
func TestMigrationsOnlyExpand(t *testing.T) {
	t.Parallel()
	paths, err := fs.Glob(store.Migrations, "migrations/*/*.sql")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d migrations (%v)", len(paths), err)
	}
	for _, name := range paths {
		version, err := goose.NumericComponent(path.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		body, err := fs.ReadFile(store.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(body), "-- +goose Down")
		if found := contracts.FindString(up); found != "" && version > store.RequiredSchema {
			t.Errorf("%s contracts the schema (%q): workers of the previous release would fail. Split it, or set requiredSchema to %d",
				name, found, version)
		}
	}
	for _, statement := range []string{
		"DROP TABLE notes;", "ALTER TABLE a DROP COLUMN b;", "ALTER TABLE a RENAME TO b;", "ALTER TABLE a ADD COLUMN b TEXT NOT NULL;",
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL;", "ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0);",
	} {
		if !contracts.MatchString(statement) {
			t.Errorf("the check overlooks %q", statement)
		}
	}
	if contracts.MatchString("ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '';") {
		t.Error("the check refuses a column with a default")
	}
}

// A store that a newer program has expanded can be opened, and Examine reports the expansion.
func TestOpenAnExpandedStore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inquest.db")
	change(`ALTER TABLE investigations ADD COLUMN mood TEXT NOT NULL DEFAULT ''`)(t, file)
	change(`CREATE TABLE IF NOT EXISTS goose_expansions (id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`)(t, file)
	change(`INSERT INTO goose_expansions (version_id, is_applied) VALUES (0, 1), (99, 1)`)(t, file)
	s := open(t, file)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := store.Examine(t.Context(), store.At(file))
	if err != nil || h.Schema != 99 || h.Required != store.RequiredSchema || h.Known >= h.Schema {
		t.Errorf("%+v (%v)", h, err)
	}
}

package store_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/store"
)

// A list reads no more rows than it shows, because it follows an index.
func TestListIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	st := open(t, path)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	explain := func(name, query, want string, args ...any) {
		var id, parent, unused int
		var plan string
		if err := db.QueryRow("EXPLAIN QUERY PLAN "+query, args...).Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, want) {
			t.Errorf("%s: %s, not %s", name, plan, want)
		}
	}
	for name, test := range map[string]struct {
		filter store.Filter
		want   string
	}{
		"all":      {store.Filter{Limit: 20}, "SCAN investigations USING INDEX investigations_by_start"},
		"since":    {store.Filter{Since: time.Now()}, "SEARCH investigations USING INDEX investigations_by_start (started_at>?)"},
		"needs me": {store.Filter{NeedsMe: true}, "USING INDEX investigations_open"},
	} {
		query, args := store.QueryOf(test.filter, st)
		explain(name, query, test.want, args...)
	}
	explain("alerts", store.AlertsQuery(st), "SEARCH a USING INDEX alerts_by_fingerprint (project=? AND fingerprint=?)", "p", "[]", 0)
}

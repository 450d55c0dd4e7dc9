package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Checked is the result of Check.
type Checked struct {
	// Entries counts the stored transcript entries, and Last is when the newest one was written.
	Entries int64
	Last    time.Time
	// Gaps counts the sequence numbers that were assigned to entries which are missing.
	Gaps int64
	// Blobs holds the hashes of missing blobs that the investigation refers to.
	Blobs []string
	// Recorded means that the investigation has a record.
	Recorded bool
}

// Check looks for missing data of an investigation or a conversation. It changes nothing.
func (s investigations) Check(ctx context.Context, investigation string) (c Checked, err error) {
	found, err := s.Investigation(ctx, investigation)
	c.Recorded = err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return c, err
	}
	refers := []string{found.PlanHash, found.DataHash}
	stands, err := standsAt(ctx, s.db.reader, investigation) // read first, so that entries appended meanwhile do not count as gaps
	if err != nil {
		return c, doing(s.db.explain(err), "check %s", investigation)
	}
	c.Gaps = stands.seq
	for after, more := int64(0), true; more; {
		entries, err := journal(s).After(ctx, investigation, after, pageSize)
		if err != nil {
			return c, err
		}
		for _, e := range entries {
			if after = e.Seq; e.Seq <= stands.seq {
				c.Gaps--
			}
			c.Entries, c.Last = c.Entries+1, e.At
			refers = append(refers, blobsOf(e)...)
		}
		more = len(entries) == pageSize
	}
	c.Blobs, err = s.lacks(ctx, refers)
	return c, err
}

// blobsOf returns the hashes of the blobs that an entry refers to. Some may be empty.
func blobsOf(e transcript.Entry) []string {
	hashes := append([]string{e.Blob}, e.Artifacts...)
	for _, image := range e.Images {
		hashes = append(hashes, image.Ref)
	}
	return hashes
}

// lacks returns the hashes of the blobs that are missing, sorted.
func (s investigations) lacks(ctx context.Context, hashes []string) (missing []string, err error) {
	slices.Sort(hashes)
	for _, hash := range slices.Compact(hashes) {
		var there bool
		err := s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = $1)`, hash).Scan(&there)
		if err != nil {
			return nil, doing(s.db.explain(err), "look for blob %s", hash)
		}
		if !there && hash != "" {
			missing = append(missing, hash)
		}
	}
	return missing, nil
}

// Health is the result of Examine.
type Health struct {
	ID string
	// Schema is the store's newest migration, Required is the newest one that a program must know to use the store, and Known is
	// the newest one in this program.
	Schema, Required, Known int64
	// Ahead is how far the database's clock is ahead of ours; 0 for a file, which has no clock.
	Ahead time.Duration
	// Secrecy says how a database's connections are protected; empty for a file.
	Secrecy Secrecy
	// Workers holds the running workers that have announced themselves. Workers of version 0.1 do not.
	Workers []record.Worker
	// Circuits holds the models that only probes call at present.
	Circuits map[circuit.Key]circuit.State
}

// Examine inspects an existing store without creating or migrating it. The error is os.ErrNotExist if there is no store.
func Examine(ctx context.Context, opts Options) (h Health, err error) {
	db, err := bare(opts, &h)
	if err != nil {
		return h, fmt.Errorf("look at store %s: %w", opts, err)
	}
	defer db.Close()
	if err := h.read(ctx, db, opts); err != nil {
		return h, fmt.Errorf("look at store %s: %w", opts, err)
	}
	return h, nil
}

// bare opens the database without creating or watching anything.
func bare(opts Options, h *Health) (*sql.DB, error) {
	if opts.DSN == "" {
		if _, err := os.Stat(opts.Path); err != nil {
			return nil, err
		}
		return pool(opts.Path, 1, busyTimeout, "_pragma=query_only(1)"), nil
	}
	config, err := configure(opts.DSN)
	if err != nil {
		return nil, err
	}
	if h.Secrecy, err = secrecyOf(config); err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

func (h *Health) read(ctx context.Context, db *sql.DB, opts Options) error {
	h.Known = KnownSchema()
	if opts.DSN == "" {
		if err := checkHost(ctx, db, hostMark(), false); err != nil {
			return err
		}
	} else {
		var theirs time.Time
		asked := time.Now()
		if err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
			return err
		}
		h.Ahead = theirs.Sub(asked.Add(time.Since(asked) / 2))
	}
	dialect := goose.DialectPostgres
	if opts.DSN == "" {
		dialect = goose.DialectSQLite3
	}
	var err error
	h.Schema, h.Required, err = schemaOf(ctx, db, dialect)
	if err == nil {
		err = db.QueryRowContext(ctx, readNote, "id").Scan(&h.ID)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("it is not a store: its tables are incomplete")
	}
	if err == nil && h.Schema >= h.Known && h.Required <= h.Known {
		h.Circuits, err = openCircuits(ctx, db)
	}
	if err == nil {
		workers, failed := runningWorkers(ctx, db, h.Ahead)
		if h.Workers = workers; h.Required <= h.Known { // a newer program may have moved the workers' table
			err = failed
		}
	}
	return err
}

// heldKey is the note of the last Hold.
const heldKey = "held"

// Hold records that both databases were restored from a backup, and returns the store's time: what was requested before may have
// been done already.
func (s *base) Hold(ctx context.Context) (time.Time, error) {
	at := storedTime(s.Now(ctx))
	_, err := s.db.writer.ExecContext(ctx, setNote, heldKey, at.Format(time.RFC3339Nano))
	return at, doing(s.db.explain(err), "record the restore")
}

// Held returns the time of the last Hold; zero if there was none.
func (s *base) Held(ctx context.Context) (at time.Time, err error) {
	var text string
	err = s.db.reader.QueryRowContext(ctx, readNote, heldKey).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, text)
	}
	return at, doing(s.db.explain(err), "read the time of the last restore")
}

// Missing returns the marks whose entries the investigation should have and does not. Superseded entries are not missing.
func (s journal) Missing(ctx context.Context, investigation string, marks []transcript.Mark) (missing []transcript.Mark, err error) {
	missing, err = lookFor(ctx, s.db.reader, investigation, marks).missing()
	return missing, doing(s.db.explain(err), "look for entries of %s", investigation)
}

// marked is a query for the entries of marks. The caller may add queries before it asks for the result.
type marked struct {
	investigation string
	marks         []transcript.Mark
	found         *sql.Row // nil if there are no marks
}

// lookFor queries the database once, however many marks there are.
func lookFor(ctx context.Context, q querier, investigation string, marks []transcript.Mark) marked {
	if len(marks) == 0 {
		return marked{}
	}
	const step = 4 // the numbers are padded to 1, 4, 16, 64 …, so few different statements are prepared
	size := 1
	for size < len(marks) {
		size *= step
	}
	args := []any{investigation}
	var list strings.Builder
	for n := range size {
		args = append(args, marks[min(n, len(marks)-1)].Seq)
		fmt.Fprintf(&list, ", $%d", len(args))
	}
	query := `SELECT COALESCE(string_agg(CAST(seq AS TEXT) || '.' || CAST(at AS TEXT), ' '), '')
		FROM entries WHERE investigation = $1 AND seq IN (` + list.String()[2:] + `)`
	return marked{investigation, marks, q.QueryRowContext(ctx, query, args...)}
}

// missing returns the marks that have no entry.
func (m marked) missing() (missing []transcript.Mark, err error) {
	if m.found == nil {
		return nil, nil
	}
	var found string
	if err := m.found.Scan(&found); err != nil {
		return nil, err
	}
	there := strings.Fields(found)
	for _, mark := range m.marks {
		if !slices.Contains(there, fmt.Sprintf("%d.%d", mark.Seq, mark.At)) {
			missing = append(missing, mark)
		}
	}
	return missing, nil
}

// required returns a transcript.BehindError if an entry is missing.
func (m marked) required() error {
	missing, err := m.missing()
	if err == nil && len(missing) > 0 {
		err = &transcript.BehindError{Investigation: m.investigation, Missing: missing}
	}
	return err
}

package store

import (
	"context"
	"errors"
	"slices"
	"time"

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
func (s *Store) Check(ctx context.Context, investigation string) (c Checked, err error) {
	found, err := s.Investigation(ctx, investigation)
	c.Recorded = err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return c, err
	}
	refers := []string{found.PlanHash, found.DataHash}
	stands, err := standsAt(ctx, s.db.reader, investigation) // first, so that entries appended meanwhile are no gaps
	if err != nil {
		return c, doing(s.db.explain(err), "check %s", investigation)
	}
	c.Gaps = stands.seq
	for after, more := int64(0), true; more; {
		entries, err := s.After(ctx, investigation, after, pageSize)
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
func (s *Store) lacks(ctx context.Context, hashes []string) (missing []string, err error) {
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

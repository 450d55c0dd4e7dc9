package store

import (
	"context"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// LookupReply returns the state before an iteration's model call: the iteration's step or, if that is not stored, the log as
// Entries returns it. It treats other runs as Lookup does.
func (s *Store) LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error) {
	key := transcript.Key{Iteration: iteration}
	c := claim{scope, key, w.RunID}
	return s.known(ctx, c, key, func() (transcript.Known, bool, error) { return s.readLog(ctx, c) })
}

// LookupCall returns the state before the n-th call of a reply: the call's result or, if that is not stored, the reply (of any run)
// and the call's intent if the same run has appended it as a step of one row. It treats other runs like a Lookup of the intent,
// whose claim covers the result.
func (s *Store) LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error) {
	intent, result := transcript.CallKey(iteration, n), transcript.ResultKey(iteration, n)
	const ofCall = ` AND iteration = $4
		AND (kind = '` + string(transcript.KindReply) + `' OR run_id = $3 AND step = seq AND position IN ($5, $9))`
	c := claim{scope, intent, w.RunID}
	return s.known(ctx, c, result, func() (k transcript.Known, settled bool, err error) {
		k, settled, _, err = s.readKnown(ctx, c, ofCall, result.Position)
		return k, settled, err
	})
}

// Begun reports whether any run, including one that was reset, has appended the intent of a call that the reply with that number
// asks for.
func (s *Store) Begun(ctx context.Context, scope transcript.Scope, call transcript.Key, reply int64) (begun bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND seq > $2
		AND execution = $3 AND iteration = $4 AND position = $5 AND kind = '` + string(transcript.KindCall) + `')`
	err = s.db.reader.QueryRowContext(ctx, query, scope.Investigation, reply, scope.Execution, call.Iteration, call.Position).Scan(&begun)
	return begun, doing(s.db.explain(err), "look up call %d/%d of %s, %s",
		call.Iteration, call.Position, scope.Investigation, scope.Execution)
}

// Missing returns the marks whose entries the investigation should have and does not. Superseded entries are not missing.
func (s *Store) Missing(ctx context.Context, investigation string, marks []transcript.Mark) (missing []transcript.Mark, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND seq = $2 AND at = $3)`
	for _, m := range marks {
		var there bool
		if err := s.db.reader.QueryRowContext(ctx, query, investigation, m.Seq, m.At).Scan(&there); err != nil {
			return nil, doing(s.db.explain(err), "look for entry %d of %s", m.Seq, investigation)
		}
		if !there {
			missing = append(missing, m)
		}
	}
	return missing, nil
}

// known returns the result of read and the step at a key. It needs a single read, unless the step is stored, nothing is stored, or
// the claim must be enforced.
func (s *Store) known(
	ctx context.Context, c claim, step transcript.Key, read func() (k transcript.Known, settled bool, err error),
) (k transcript.Known, err error) {
	defer func() { err = doing(err, "look up %s", c) }()
	if err := c.check(); err != nil {
		return k, err
	}
	k, settled, err := read()
	if err == nil && !settled {
		if _, err = s.lookup(ctx, c); err == nil && k.Log != nil {
			k, _, err = read()
		}
		if err == nil && k.Log == nil {
			err = s.readBare(ctx, c, &k)
		}
	}
	if err != nil {
		return transcript.Known{}, err
	}
	own := func(e transcript.Entry) bool { return e.Key == step && e.Writer.RunID == c.run }
	if slices.ContainsFunc(k.Log, own) {
		k.Step, err = s.lookup(ctx, claim{c.Scope, step, c.run})
	}
	return k, err
}

// readLog reads everything known about an execution; for a cached log, only the new part.
func (s *Store) readLog(ctx context.Context, c claim) (k transcript.Known, settled bool, err error) {
	var struck int64
	if kept := s.logs.get(c.Scope); kept.last > 0 {
		k, settled, struck, err = s.readKnown(ctx, c, ` AND seq >= $9`, kept.last)
		if err != nil {
			return k, settled, err
		}
		if k.Log != nil && struck == kept.struck {
			k.Log = kept.with(k.Log)
			s.logs.keep(c.Scope, k.Log, struck)
			return k, settled, nil
		}
	}
	k, settled, struck, err = s.readKnown(ctx, c, "")
	if k.Log = slices.Clip(k.Log); err == nil {
		s.logs.keep(c.Scope, k.Log, struck)
	}
	return k, settled, err
}

// readKnown also returns whether the claim is settled, and how often entries of the investigation were superseded. Without entries
// it cannot know.
func (s *Store) readKnown(
	ctx context.Context, c claim, which string, args ...any,
) (k transcript.Known, settled bool, struck int64, err error) {
	query := `SELECT ` + entryColumns + `, ` + isNewest + ` AND NOT ` + isDisplacing + `, ` + hashList + `, ` + countUnread(7) + `,
		(SELECT struck FROM cursors WHERE investigation = $1)
		FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2` + which + ` ORDER BY iteration, position`
	var hashes string
	fields := func(e *transcript.Entry) []any { // the last four are the same in every row
		return append(entryFields(e), &settled, &hashes, &k.Unread, &struck)
	}
	k.Log, err = selectAll(ctx, s.db.reader, fields, query, slices.Concat(c.args(), reader(c.Execution), args)...)
	k.Catalogues = strings.Fields(hashes)
	return k, settled, struck, s.db.explain(err)
}

// hashList selects the hashes of the catalogues of an execution's servers.
const hashList = `COALESCE((SELECT string_agg(hash, ' ' ORDER BY server) FROM catalogues WHERE investigation = $1 AND execution = $2), '')`

// readBare reads the known state of an execution, except its entries.
func (s *Store) readBare(ctx context.Context, c claim, k *transcript.Known) error {
	var hashes string
	args := append([]any{c.Investigation, c.Execution}, reader(c.Execution)...)
	err := s.db.reader.QueryRowContext(ctx, `SELECT `+hashList+`, `+countUnread(3), args...).Scan(&hashes, &k.Unread)
	k.Catalogues = strings.Fields(hashes)
	return s.db.explain(err)
}

package store

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// spoken returns the role of an entry kind that conversation search finds.
func spoken(kind transcript.Kind) (agent.Role, bool) {
	switch kind {
	case transcript.KindUser:
		return agent.User, true
	case transcript.KindReply:
		return agent.Assistant, true
	}
	return "", false
}

// recall makes a step's text searchable for its agent.
func (s *Store) recall(ctx context.Context, q querier, by string, entries []transcript.Entry) error {
	if by == "" {
		return nil
	}
	m, err := s.memoryTx(ctx, q, by)
	for _, e := range entries {
		if _, said := spoken(e.Kind); said && e.Text != "" && err == nil {
			err = m.say(ctx, e)
		}
	}
	return err
}

func (m *memoryTx) say(ctx context.Context, e transcript.Entry) error {
	const count = `UPDATE memories SET last_said = last_said + 1 WHERE id = $1 RETURNING last_said`
	var n int64
	if err := m.q.QueryRowContext(ctx, count, m.id).Scan(&n); err != nil {
		return err
	}
	_, err := m.q.ExecContext(ctx, insertInto("recall", "id, investigation, seq"), m.row(n), e.Investigation, e.Seq)
	if err != nil {
		return err
	}
	return m.words.put(ctx, m.q, "recall_words", m.row(n), e.Text)
}

// unsay removes the entries that were superseded with the number struck from conversation search.
func (c claim) unsay(ctx context.Context, q querier, struck int64) error {
	const gone = `investigation = $1 AND seq IN (SELECT seq FROM entries WHERE investigation = $1 AND superseded = $2)`
	_, err := q.ExecContext(ctx, `DELETE FROM recall_words WHERE rowid IN (SELECT id FROM recall WHERE `+gone+`)`, c.Investigation, struck)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `DELETE FROM recall WHERE `+gone, c.Investigation, struck)
	return err
}

func (m *memoryTx) SearchConversation(ctx context.Context, query string, page int) ([]memory.Message, error) {
	with, args := m.find("recall_words", query, page)
	if args == nil {
		return nil, nil
	}
	type row struct {
		kind transcript.Kind
		body transcript.Body
	}
	rows, err := selectAll(ctx, m.q, func(r *row) []any { return []any{&r.kind, asJSON(&r.body)} }, with+
		`SELECT kind, body FROM found JOIN recall ON id = found.rowid JOIN entries USING (investigation, seq)
		ORDER BY score DESC, id DESC`, args...)
	var messages []memory.Message
	for _, r := range rows {
		role, _ := spoken(r.kind)
		messages = append(messages, memory.Message{Role: role, Content: r.body.Text})
	}
	return messages, err
}

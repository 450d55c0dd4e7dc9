package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

const mailColumns = `investigation, seq, source, ordinal, run_id, agent, stage, author, text, at`

func mailFields(l *transcript.Letter) []any {
	return []any{
		&l.Investigation, &l.Seq, &l.Source, &l.Ordinal, &l.RunID, &l.Agent, &l.Stage, textColumn{&l.By}, textColumn{&l.Text}, timeColumn{&l.At},
	}
}

// Conditions on a row of mail, of the investigation $1.
const (
	quoted = `SELECT 1 FROM readings JOIN entries ON entries.investigation = readings.investigation AND entries.seq = entry
		WHERE readings.investigation = mail.investigation AND mail = mail.seq AND entries.superseded = 0`
	isRead = `EXISTS (` + quoted + `)`
)

// isUnread is the condition that the execution $2 may read the letter and has not. $n and $n+1 are its reader.
func isUnread(n int) string {
	return fmt.Sprintf(`investigation = $1 AND superseded = 0 AND stage IN ('', $%d) AND agent IN ('', $%d)
		AND NOT EXISTS (%s AND entries.execution = $2)`, n, n+1, quoted)
}

func countUnread(n int) string { return `(SELECT COUNT(*) FROM mail WHERE ` + isUnread(n) + `)` }

// reader returns an execution's stage and agent.
func reader(execution string) []any {
	stage, agent, _ := strings.Cut(execution, "/") // a sub-agent's name begins with that of the agent that dispatched it
	return []any{stage, agent}
}

// Post puts a letter into an investigation's mail, once for its source, run and ordinal. Each given stage that has not ended gets a
// copy; if there is none, the first stage that reads the letter gets it. Letters that another run of the source posted at the
// ordinal or after it are superseded, because Temporal was reset and the new run posts them again. A run that was replaced gets
// ErrStaleRun.
func (s journal) Post(ctx context.Context, letter transcript.Letter, stages []string) error {
	err := s.write(ctx, letter.Investigation, func(q querier) error {
		posted, err := takeOver(ctx, q, letter)
		if err != nil || posted {
			return err
		}
		ended, err := selectAll(ctx, q, func(name *string) []any { return []any{name} },
			`SELECT name FROM stages WHERE investigation = $1 AND ended_at IS NOT NULL`, letter.Investigation)
		if err != nil {
			return err
		}
		stages = slices.DeleteFunc(slices.Clone(stages), func(name string) bool { return slices.Contains(ended, name) })
		if len(stages) == 0 {
			stages = []string{""}
		}
		for _, letter.Stage = range stages {
			if err := insertMail(ctx, q, letter); err != nil {
				return err
			}
		}
		return s.addActs(ctx, q, []audit.Act{guidedAct(letter, stages)})
	})
	return doing(err, "store message %d for the agents of %s, %q", letter.Ordinal, letter.Investigation, letter.Source)
}

// takeOver makes the letter's run the newest one of its source, and supersedes the letters of other runs at its ordinal or after
// it. posted means that the run has posted this letter before.
func takeOver(ctx context.Context, q querier, l transcript.Letter) (posted bool, err error) {
	c := claim{Scope: transcript.Scope{Investigation: l.Investigation, Execution: l.Source}, run: l.RunID}
	const query = `SELECT EXISTS (SELECT 1 FROM runs WHERE investigation = $1 AND execution = $2 AND run_id = $3), ` + isNewest + `,
		EXISTS (SELECT 1 FROM mail WHERE investigation = $1 AND source = $2 AND run_id = $3 AND ordinal = $4)`
	var st standing
	err = q.QueryRowContext(ctx, query, l.Investigation, l.Source, l.RunID, l.Ordinal).Scan(&st.known, &st.newest, &posted)
	switch {
	case err != nil || posted:
		return posted, err
	case st.stale():
		return false, ErrStaleRun
	case !st.known:
		if err := c.register(ctx, q); err != nil {
			return false, err
		}
	}
	_, err = q.ExecContext(ctx, `UPDATE mail SET superseded = 1 WHERE investigation = $1 AND source = $2 AND run_id <> $3 AND ordinal >= $4
		AND superseded = 0`, l.Investigation, l.Source, l.RunID, l.Ordinal)
	return false, err
}

func insertMail(ctx context.Context, q querier, l transcript.Letter) error {
	err := q.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM mail WHERE investigation = $1`, l.Investigation).Scan(&l.Seq)
	if err == nil {
		_, err = q.ExecContext(ctx, insertInto("mail", mailColumns+", superseded"), append(mailFields(&l), 0)...)
	}
	return err
}

// maxMail is the maximum size of the letters for one model call, in bytes. At least one letter is always read.
const maxMail = 64 << 10

// TakeMail returns the letters that an execution may read and has not, in order, and reserves them for its stage. Letters that do
// not fit into one model call stay unread.
func (s journal) TakeMail(ctx context.Context, scope transcript.Scope) (letters []transcript.Letter, err error) {
	who := reader(scope.Execution)
	err = s.write(ctx, scope.Investigation, func(q querier) error {
		const keep = `UPDATE mail SET stage = $2 WHERE investigation = $1 AND superseded = 0 AND stage = '' AND agent IN ('', $3)`
		if _, err := q.ExecContext(ctx, keep, append([]any{scope.Investigation}, who...)...); err != nil {
			return err
		}
		letters, err = selectAll(ctx, q, mailFields, `SELECT `+mailColumns+` FROM mail WHERE `+isUnread(3)+` ORDER BY seq`,
			append([]any{scope.Investigation, scope.Execution}, who...)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take the mail of %s, %s: %w", scope.Investigation, scope.Execution, err)
	}
	size := 0
	for n, l := range letters {
		if size += len(l.Text); size > maxMail && n > 0 {
			return letters[:n], nil
		}
	}
	return letters, nil
}

// freeMail releases the unread letters of an ended stage. Stages with their own copy keep that; if there is none, the
// letter goes to the first stage that reads it.
func freeMail(ctx context.Context, q querier, investigation, stage string) error {
	const left = ` WHERE investigation = $1 AND stage = $2 AND superseded = 0 AND NOT ` + isRead
	for _, query := range []string{
		`UPDATE mail SET superseded = 1` + left + ` AND EXISTS (
			SELECT 1 FROM mail AS other WHERE other.investigation = $1 AND other.superseded = 0
			AND other.source = mail.source AND other.ordinal = mail.ordinal AND other.seq <> mail.seq)`,
		`UPDATE mail SET stage = ''` + left,
	} {
		if _, err := q.ExecContext(ctx, query, investigation, stage); err != nil {
			return err
		}
	}
	return nil
}

// Unread returns the unread letters of an investigation, in order.
func (s journal) Unread(ctx context.Context, investigation string) (unread []transcript.Letter, err error) {
	type row struct {
		transcript.Letter
		read bool
	}
	rows, err := selectAll(ctx, s.db.reader, func(r *row) []any { return append(mailFields(&r.Letter), &r.read) },
		`SELECT `+mailColumns+`, `+isRead+` FROM mail WHERE investigation = $1 AND superseded = 0 ORDER BY seq`, investigation)
	if err != nil {
		return nil, fmt.Errorf("read the mail of %s: %w", investigation, s.db.explain(err))
	}
	for n, r := range rows {
		superseded := func(o row) bool { return o.Source == r.Source && o.Ordinal == r.Ordinal && (o.read || o.Seq < r.Seq) }
		if !slices.ContainsFunc(rows, superseded) {
			unread = append(unread, rows[n].Letter)
		}
	}
	return unread, nil
}

const chatColumns = `investigation, kind, channel, thread, ts, state, about, at`

func chatFields(m *record.ChatMessage) []any {
	return []any{
		textColumn{&m.Investigation}, textColumn{&m.Kind}, textColumn{&m.Channel}, textColumn{&m.Thread}, textColumn{&m.TS},
		textColumn{&m.State}, textColumn{&m.About}, timeColumn{&m.At},
	}
}

// keepInputs is how long a finished input is remembered. Slack repeats deliveries for up to an hour.
const keepInputs = 3 * time.Hour

// chatNews is the name under which the hub announces changes to messages, and new inputs.
const chatNews = "chats"

// Lease makes owner the only holder of a lease for a time, unless another owner holds it, and reports whether owner has it. The time
// is the database's. A duration of zero gives the lease back.
func (s chats) Lease(ctx context.Context, name, owner string, d time.Duration) (held bool, err error) {
	err = s.write(ctx, "", func(q querier) error {
		now, err := s.db.lockWindow(ctx, q, "lease", name)
		if err != nil {
			return err
		}
		held, err = changed(q.ExecContext(ctx, insertInto("leases", "name, owner, until")+`ON CONFLICT (name) DO UPDATE SET
			owner = excluded.owner, until = excluded.until WHERE leases.owner = excluded.owner OR leases.until <= $4`,
			name, owner, now+d.Microseconds(), now))
		return err
	})
	return held, doing(err, "take the lease %s", name)
}

// ChatNews returns a channel that receives a value after a message was added or changed or an input was added, and a function that ends
// this. News from other processes can get lost, so look from time to time anyway.
func (s chats) ChatNews() (<-chan struct{}, func()) { return s.hub.subscribe(chatNews) }

// AddChatMessage writes a row unless the investigation has one of its kind, and returns the row that there is.
func (s chats) AddChatMessage(ctx context.Context, m record.ChatMessage) (now record.ChatMessage, added bool, err error) {
	m.At = s.Now(ctx)
	err = s.write(ctx, chatNews, func(q querier) error {
		if added, err = changed(q.ExecContext(ctx, insertInto("chat_messages", chatColumns)+`ON CONFLICT (investigation, kind) DO NOTHING`,
			chatFields(&m)...)); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, `SELECT `+chatColumns+` FROM chat_messages WHERE investigation = $1 AND kind = $2`,
			m.Investigation, m.Kind).Scan(chatFields(&now)...)
	})
	return now, added, doing(err, "write the %s of %s", m.Kind, m.Investigation)
}

// SetChatMessage changes the TS, the thread and the state of a row. It reports whether the row had no other TS.
func (s chats) SetChatMessage(ctx context.Context, m record.ChatMessage) (set bool, err error) {
	err = s.write(ctx, chatNews, func(q querier) error {
		set, err = changed(q.ExecContext(ctx, `UPDATE chat_messages SET ts = $3, state = $4, thread = $5
			WHERE investigation = $1 AND kind = $2 AND ts IN ('', $3)`, m.Investigation, m.Kind, m.TS, m.State, m.Thread))
		return err
	})
	return set, doing(err, "change the %s of %s", m.Kind, m.Investigation)
}

// ChatMessages returns the rows of an investigation.
func (s chats) ChatMessages(ctx context.Context, investigation string) ([]record.ChatMessage, error) {
	return s.chatMessages(ctx, `investigation = $1 ORDER BY kind`, investigation)
}

// ChatThreads returns the threads of the investigations whose report has not been posted.
func (s chats) ChatThreads(ctx context.Context) ([]record.ChatMessage, error) {
	return s.chatMessages(ctx, `kind = 'thread' AND state = $1 ORDER BY at`, record.ChatOpen)
}

// ChatThreadAt returns the investigations of a thread, newest first.
func (s chats) ChatThreadAt(ctx context.Context, channel, thread string) ([]record.ChatMessage, error) {
	return s.chatMessages(ctx, `kind = 'thread' AND channel = $1 AND thread = $2 ORDER BY at DESC`, channel, thread)
}

func (s chats) chatMessages(ctx context.Context, where string, args ...any) ([]record.ChatMessage, error) {
	all, err := selectAll(ctx, s.db.reader, chatFields, `SELECT `+chatColumns+` FROM chat_messages WHERE `+where, args...)
	return all, doing(s.db.explain(err), "read the messages in chats")
}

// AddChatInput writes an input, once for its ID.
func (s chats) AddChatInput(ctx context.Context, in record.ChatInput) error {
	in.At = s.Now(ctx)
	old := in.At.Add(-keepInputs)
	err := s.write(ctx, chatNews, func(q querier) error {
		if _, err := q.ExecContext(ctx, `DELETE FROM chat_inputs WHERE done_at < $1`, timeColumn{&old}); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, insertInto("chat_inputs", "id, lane, body, at")+`ON CONFLICT (id) DO NOTHING`,
			textColumn{&in.ID}, textColumn{&in.Lane}, textColumn{&in.Body}, timeColumn{&in.At})
		return err
	})
	return doing(err, "write an input of a chat")
}

// ChatInputs returns the inputs that have not been carried out, in order.
func (s chats) ChatInputs(ctx context.Context) ([]record.ChatInput, error) {
	fields := func(in *record.ChatInput) []any {
		return []any{&in.N, textColumn{&in.ID}, textColumn{&in.Lane}, textColumn{&in.Body}, timeColumn{&in.At}}
	}
	all, err := selectAll(ctx, s.db.reader, fields, `SELECT n, id, lane, body, at FROM chat_inputs WHERE done_at IS NULL ORDER BY n`)
	return all, doing(s.db.explain(err), "read the inputs of chats")
}

// ChatInputDone removes the content of an input that was carried out, and remembers its ID for a while.
func (s chats) ChatInputDone(ctx context.Context, id string) error {
	now := s.Now(ctx)
	err := s.write(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, `UPDATE chat_inputs SET body = '', done_at = $2 WHERE id = $1`, id, timeColumn{&now})
		return err
	})
	return doing(err, "finish an input of a chat")
}

const notificationColumns = `n, investigation, act, channel, escalation, due, tries, at`

func notificationFields(m *record.Notification) []any {
	return []any{&m.N, &m.Investigation, &m.Act, &m.Channel, &m.Escalation, timeColumn{&m.Due}, &m.Tries, timeColumn{&m.At}}
}

// keepNotifying is how long acts are kept for notifications after the last process that sends them has stopped.
const keepNotifying = 7 * 24 * time.Hour

// notify adds an act to the notifications if it is one that people are told about, and if some process sends notifications.
func notify(ctx context.Context, q querier, act audit.Act) error {
	if act.What != audit.Started && act.What != audit.Asked && act.What != audit.Ended {
		return nil
	}
	now := time.Now()
	wanted := now.Add(-keepNotifying)
	_, err := q.ExecContext(ctx, `INSERT INTO notifications (investigation, act, channel, escalation, due, tries, at)
		SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), '', 0, 0, 0, CAST($3 AS BIGINT)
		WHERE EXISTS (SELECT 1 FROM leases WHERE name = '`+record.NotificationsLease+`' AND until > $4)`,
		act.Investigation, act.N, timeColumn{&now}, timeColumn{&wanted})
	return err
}

// AnyNews is ChatNews for changes of any investigation.
func (s chats) AnyNews() (<-chan struct{}, func()) { return s.hub.subscribe(anyNews) }

// DueNotifications returns the notifications that are due, up to limit of each channel. Those of one channel about one investigation are
// returned one at a time, in order, unless the earlier one is not due and was never tried.
func (s chats) DueNotifications(ctx context.Context, limit int) ([]record.Notification, error) {
	now := s.Now(ctx)
	all, err := selectAll(ctx, s.db.reader, notificationFields, `SELECT `+notificationColumns+` FROM (
			SELECT `+notificationColumns+`, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY n) AS place FROM notifications AS m
			WHERE due <= $1 AND NOT EXISTS (SELECT 1 FROM notifications AS e WHERE e.investigation = m.investigation
				AND e.channel = m.channel AND e.n < m.n AND (e.due <= $1 OR e.tries > 0))
		) AS ready WHERE place <= $2 ORDER BY n`, timeColumn{&now}, limit)
	return all, doing(s.db.explain(err), "read the notifications")
}

// ReplaceNotification deletes a notification and adds others in its place. It does nothing if the notification is gone.
func (s chats) ReplaceNotification(ctx context.Context, n int64, others ...record.Notification) error {
	err := s.write(ctx, anyNews, func(q querier) error {
		if gone, err := changed(q.ExecContext(ctx, `DELETE FROM notifications WHERE n = $1`, n)); err != nil || !gone {
			return err
		}
		for _, m := range others {
			_, columns, _ := strings.Cut(notificationColumns, ", ")
			if _, err := q.ExecContext(ctx, insertInto("notifications", columns), notificationFields(&m)[1:]...); err != nil {
				return err
			}
		}
		return nil
	})
	return doing(err, "replace a notification")
}

// PostponeNotification records a failed attempt. The next one is due after wait.
func (s chats) PostponeNotification(ctx context.Context, n int64, wait time.Duration) error {
	due := s.Now(ctx).Add(wait)
	err := s.write(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, `UPDATE notifications SET due = $2, tries = tries + 1 WHERE n = $1`, n, timeColumn{&due})
		return err
	})
	return doing(err, "postpone a notification")
}

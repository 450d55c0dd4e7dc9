package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Learnings lists a page of a project's learnings, newest first.
func (c *finder) Learnings(ctx context.Context, in system.LearningsIn) (out system.Page[system.Learning], err error) {
	out.Items = []system.Learning{} // not null in JSON
	filter := learning.Filter{
		Project: in.Project, Investigation: in.Investigation, Search: in.Search, Withdrawn: in.Withdrawn, Limit: in.Limit + 1,
	}
	if filter.Before, err = beforeOf(in.Cursor); err != nil {
		return out, err
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return out, err
	}
	if in.Investigation != "" {
		if o, err := c.Owner(ctx, in.Investigation); err == nil { // it may be a workflow ID
			filter.Investigation = o.ID
		}
	}
	all, err := st.Learnings(ctx, filter)
	if in.Limit > 0 && len(all) > in.Limit {
		all = all[:in.Limit]
		out.Next = base64.RawURLEncoding.EncodeToString([]byte(learning.Name(all[in.Limit-1].ID)))
	}
	out.Items = append(out.Items, learningsOf(all)...)
	return out, err
}

var errCursor = &system.InputError{Err: errors.New("invalid cursor: use the value of next from the previous page")}

// beforeOf reads a cursor, which holds the name of the last learning of a page.
func beforeOf(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	name, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		var id int64
		if id, err = learning.ParseName(string(name)); err == nil {
			return id, nil
		}
	}
	return 0, errCursor
}

func learningsOf(all []learning.Learning) []system.Learning {
	out, now := []system.Learning{}, time.Now()
	for _, one := range all {
		out = append(out, system.LearningOf(one, now))
	}
	return out
}

// readsOf returns a page of who got learnings. It is empty if there are no learnings.
func readsOf(ctx context.Context, st *store.Store, project string, ids []int64, cursor string) (out system.LearningReads, err error) {
	out.Reads = []system.LearningRead{} // not null in JSON
	f := learning.ReadFilter{Project: project, Learnings: ids}
	if err = readCursor(cursor, &f.Before, &f.Before.Investigation); err != nil || len(ids) == 0 {
		return out, err
	}
	page, more, err := st.LearningReads(ctx, f)
	for _, r := range page {
		read := system.LearningRead{Learning: learning.Name(r.Learning), Investigation: r.Investigation, How: r.How, At: r.At}
		out.Reads = append(out.Reads, read)
	}
	if more {
		out.MoreReads, out.Next = true, cursorOf(page[0])
	}
	return out, err
}

// cursorOf returns the cursor of a page whose last row is given.
func cursorOf(row any) string {
	text, _ := json.Marshal(row) // always has a JSON form
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor reads the row in a cursor. id is the row's field that is never empty. An empty cursor leaves the row as it is.
func readCursor(cursor string, row any, id *string) error {
	if cursor == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, row)
	}
	if err != nil || *id == "" || strings.ContainsRune(*id, 0) {
		return errCursor
	}
	return nil
}

// learning returns a learning. It returns record.ErrNotFound if the project has none with this name.
func (c *finder) learning(ctx context.Context, in system.LearningIn) (st *store.Store, one learning.Learning, err error) {
	id, err := learning.ParseName(in.Learning)
	if err != nil {
		return nil, one, &system.InputError{Err: err}
	}
	if st, err = c.needStore(ctx); err == nil {
		one, err = st.Learning(ctx, in.Project, id)
	}
	return st, one, err
}

// Learning returns a learning, and a page of who got it.
func (c *finder) Learning(ctx context.Context, in system.GetLearningIn) (out system.LearningWhole, err error) {
	st, one, err := c.learning(ctx, in.LearningIn)
	if err != nil {
		return out, err
	}
	out.Learning = system.LearningOf(one, time.Now())
	out.LearningReads, err = readsOf(ctx, st, in.Project, []int64{one.ID}, in.Cursor)
	return out, err
}

// actOf is an act about an investigation's learnings, in the audit chain of that investigation.
func actOf(investigation string, by agent.Identity) audit.Act {
	return audit.Act{Investigation: investigation, Who: by.Name, Channel: by.Channel}
}

// EditLearning changes a learning. It returns a *system.InputError if a value is wrong.
func (c *finder) EditLearning(ctx context.Context, in system.EditLearningIn, by agent.Identity) (out system.Learning, err error) {
	st, one, err := c.learning(ctx, in.LearningIn)
	if err != nil {
		return out, err
	}
	now, change := time.Now(), learning.Change(in.Body)
	if change.Text != nil {
		change.Text = new(mask.Shown(ctx, *change.Text))
	}
	after, err := st.EditLearning(ctx, in.Project, one.ID, actOf(one.Investigation, by), func(l learning.Learning) (learning.Learning, error) {
		l, err := change.Apply(l, by.Name, now)
		if err != nil {
			err = &system.InputError{Err: err}
		}
		return l, err
	})
	return system.LearningOf(after, now), err
}

// DeleteLearning deletes a learning. The record of who got it stays.
func (c *finder) DeleteLearning(ctx context.Context, in system.LearningIn, by agent.Identity) error {
	st, one, err := c.learning(ctx, in)
	if err == nil {
		err = st.DeleteLearning(ctx, in.Project, one.ID, actOf(one.Investigation, by))
	}
	return err
}

// Taught returns the learnings from an investigation, withdrawn or not, and a page of the investigations that received them.
func (c *finder) Taught(ctx context.Context, in system.TaughtIn) (out system.Taught, err error) {
	st, o, err := c.teacher(ctx, in.ID)
	if err != nil {
		return out, err
	}
	all, err := st.Learnings(ctx, learning.Filter{Project: o.Project, Investigation: o.ID, Withdrawn: true})
	if err != nil {
		return out, err
	}
	return taught(ctx, st, o, all, in.Cursor)
}

// WithdrawLearnings withdraws everything that an investigation taught.
func (c *finder) WithdrawLearnings(ctx context.Context, in system.WithdrawIn, by agent.Identity) (out system.Taught, err error) {
	st, o, err := c.teacher(ctx, in.ID)
	if err != nil {
		return out, err
	}
	withdrawn := learning.Withdrawn{By: by.Name, At: time.Now(), Why: mask.Shown(ctx, in.Body.Reason)}
	all, err := st.WithdrawLearnings(ctx, o.Project, o.ID, withdrawn, actOf(o.ID, by))
	if err != nil {
		return out, err
	}
	return taught(ctx, st, o, all, "")
}

// teacher finds an investigation by its ID or workflow ID.
func (c *finder) teacher(ctx context.Context, id string) (st *store.Store, o Owned, err error) {
	if st, err = c.needStore(ctx); err == nil {
		o, err = c.Owner(ctx, id)
	}
	return st, o, err
}

func taught(ctx context.Context, st *store.Store, o Owned, all []learning.Learning, cursor string) (out system.Taught, err error) {
	out.Investigation, out.Learnings, out.Judged = o.ID, learningsOf(all), []system.Judged{}
	judged, err := st.Judgements(ctx, o.Project, o.ID)
	if err != nil {
		return out, err
	}
	for _, j := range judged {
		out.Judged = append(out.Judged, system.Judged{Learning: learning.Name(j.Learning), Confirms: j.Confirms, Undone: j.Undone})
	}
	var ids []int64
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	outcome, _, err := st.Learned(ctx, o.ID)
	if err != nil {
		return out, err
	}
	for _, id := range outcome.Created {
		if !slices.Contains(ids, id) {
			out.Deleted, ids = append(out.Deleted, learning.Name(id)), append(ids, id)
		}
	}
	out.LearningReads, err = readsOf(ctx, st, o.Project, ids, cursor)
	return out, err
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/virtual"
)

const virtualColumns = `project, name, version, made_by, at, deleted, definition`

func virtualFields(a *virtual.Agent) []any {
	return []any{
		textColumn{&a.Project}, textColumn{&a.Name}, &a.Version, textColumn{&a.By}, timeColumn{&a.At}, &a.Deleted, asJSON(&a.Definition),
	}
}

// VirtualAgents returns the last versions of a project's agents, by name: of the named ones, or else of all. It includes deleted
// agents, which are marked as deleted.
func (s agents) VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error) {
	query, args := `SELECT `+virtualColumns+` FROM virtual_agents AS a WHERE project = $1
		AND version = (SELECT MAX(version) FROM virtual_agents AS b WHERE b.project = a.project AND b.name = a.name)`,
		[]any{cmp.Or(project, agent.DefaultProject)}
	if len(names) > 0 {
		var in []string
		for _, name := range names {
			args = append(args, textColumn{&name})
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		query += ` AND name IN (` + strings.Join(in, ", ") + `)`
	}
	all, err := selectAll(ctx, s.db.reader, virtualFields, query+` ORDER BY name`, args...)
	return all, doing(s.db.explain(err), "read the agents of the project %s", project)
}

// VirtualVersions returns all versions of an agent, newest first.
func (s agents) VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error) {
	const query = `SELECT ` + virtualColumns + ` FROM virtual_agents WHERE project = $1 AND name = $2 ORDER BY version DESC`
	all, err := selectAll(ctx, s.db.reader, virtualFields, query, cmp.Or(project, agent.DefaultProject), name)
	return all, doing(s.db.explain(err), "read the versions of the agent %s", name)
}

// SaveVirtualAgent adds the version that follows version after; 0 means that the agent does not exist, or was deleted. The error is
// virtual.ErrTaken, ErrNotFound or virtual.ErrChanged if the stored version differs.
func (s agents) SaveVirtualAgent(ctx context.Context, a virtual.Agent, after int) (virtual.Agent, error) {
	a.Project, a.At = cmp.Or(a.Project, agent.DefaultProject), storedTime(cmp.Or(a.At, time.Now()))
	err := s.write(ctx, "", func(q querier) error {
		if _, err := s.db.lockWindow(ctx, q, "virtual agents of "+a.Project, a.Name); err != nil {
			return err
		}
		const query = `SELECT ` + virtualColumns + ` FROM virtual_agents WHERE project = $1 AND name = $2 ORDER BY version DESC LIMIT 1`
		last, err := selectAll(ctx, q, virtualFields, query, a.Project, a.Name)
		if err != nil {
			return err
		}
		there := len(last) > 0 && !last[0].Deleted
		switch {
		case there && after == 0:
			return virtual.ErrTaken
		case !there && after != 0:
			return ErrNotFound
		case there && last[0].Version != after:
			return fmt.Errorf("%w: it is at version %d", virtual.ErrChanged, last[0].Version)
		}
		a.Version = 1
		if len(last) > 0 {
			a.Version = last[0].Version + 1
		}
		if _, err := q.ExecContext(ctx, insertInto("virtual_agents", virtualColumns), virtualFields(&a)...); err != nil {
			return err
		}
		return s.addActs(ctx, q, []audit.Act{virtualAct(ctx, a, after)})
	})
	return a, doing(err, "save the agent %s", a.Name)
}

func virtualAct(ctx context.Context, a virtual.Agent, after int) audit.Act {
	what, shown := audit.AgentChanged, ""
	switch {
	case a.Deleted:
		what = audit.AgentDeleted
	case after == 0:
		what = audit.AgentMade
	}
	if text, err := json.Marshal(a.Definition); err == nil && !a.Deleted {
		shown = mask.Shown(ctx, string(text))
	}
	return audit.Act{
		At: a.At, What: what, Who: a.By, Channel: a.Channel, Call: a.Name,
		Detail: audit.Detail("project", a.Project, "version", strconv.Itoa(a.Version), "definition", shown),
	}
}

// workerGone is the maximum age of a running worker's announcement. Workers announce themselves every minute.
const workerGone = 5 * time.Minute

const workerKey = "worker/"

// AnnounceWorker records a running worker's description of its program, and removes the announcements of workers that are gone.
// Call it at least once a minute.
func (s agents) AnnounceWorker(ctx context.Context, w record.Worker) error {
	w.Seen = s.Now(ctx).UTC().Truncate(time.Second)
	err := s.change(ctx, "", func(q querier) error {
		others, err := announced(ctx, q)
		if err != nil {
			return err
		}
		for _, other := range others {
			if w.Seen.Sub(other.Seen) <= workerGone {
				continue
			}
			if _, err := q.ExecContext(ctx, `DELETE FROM meta WHERE key = $1`, workerKey+other.Identity); err != nil {
				return err
			}
		}
		_, err = q.ExecContext(ctx, setNote, workerKey+w.Identity, asJSON(&w))
		return err
	})
	return doing(err, "announce worker %s", w.Identity)
}

// announced reads the announcements of all workers, including those that are gone.
func announced(ctx context.Context, q querier) (workers []record.Worker, err error) {
	rows, err := q.QueryContext(ctx, `SELECT key, value FROM meta WHERE key LIKE $1 ORDER BY key`, workerKey+"%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		var w record.Worker
		if err := json.Unmarshal([]byte(value), &w); err != nil {
			return nil, fmt.Errorf("read the announcement of worker %s: %w", strings.TrimPrefix(key, workerKey), err)
		}
		workers = append(workers, w)
	}
	return workers, rows.Err()
}

// runningWorkers reads the announcements of running workers. ahead is how far the announcements' clock is ahead of the local one.
func runningWorkers(ctx context.Context, db *sql.DB, ahead time.Duration) (workers []record.Worker, err error) {
	all, err := announced(ctx, db)
	for _, w := range all {
		if time.Now().Add(ahead).Sub(w.Seen) <= workerGone {
			workers = append(workers, w)
		}
	}
	return workers, err
}

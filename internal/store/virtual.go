package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/mask"
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
func (s *Store) VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error) {
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
func (s *Store) VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error) {
	const query = `SELECT ` + virtualColumns + ` FROM virtual_agents WHERE project = $1 AND name = $2 ORDER BY version DESC`
	all, err := selectAll(ctx, s.db.reader, virtualFields, query, cmp.Or(project, agent.DefaultProject), name)
	return all, doing(s.db.explain(err), "read the versions of the agent %s", name)
}

// SaveVirtualAgent adds the version that follows version after; 0 means that the agent does not exist, or was deleted. The error is
// virtual.ErrTaken, ErrNotFound or virtual.ErrChanged if the stored version differs.
func (s *Store) SaveVirtualAgent(ctx context.Context, a virtual.Agent, after int) (virtual.Agent, error) {
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

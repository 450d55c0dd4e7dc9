package record

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Filter selects investigations. Its zero value selects all.
type Filter struct {
	// Projects are the projects that the caller may see; nil means all.
	Projects  []string
	Status    agent.Status      // empty means any
	Chain     string            // empty means any
	AlertType string            // empty means any
	Tenant    string            // empty means any
	Session   string            // empty means any
	Metadata  map[string]string // all of it must match
	Since     time.Time         // started then or later; zero means any time
	NeedsMe   bool              // waiting for a person
	Review    ReviewState       // state of the review; empty means any
	Assignee  string            // who claimed the review; empty means anyone
	Open      bool              // not ended
	NoTrials  bool              // see Envelope.Trial
	// Search is a part of the workflow ID, chain or alert type. It can also be words that all occur in these, the alert, the error,
	// the report or the summary; a word of three or more characters matches as a prefix. An empty string selects any.
	Search string
	// NamesOnly restricts Search to names.
	NamesOnly bool
	Limit     int // 0 means all
	// Before selects the investigations after this place in the list, newest first; zero means from the beginning.
	Before Place
}

// Place is an investigation's position in a list.
type Place struct {
	StartedAt time.Time
	ID        string
}

// NeedsMe are the statuses of investigations that wait for a person.
var NeedsMe = []string{string(agent.StatusWaitingApproval), string(agent.StatusWaitingAnswer), string(agent.StatusPaused)}

// Selects reports whether the filter selects an investigation. It searches only the workflow ID, the chain and the alert type, and
// ignores reviews, which are not in the record.
func (f Filter) Selects(r Investigation) bool {
	return f.sees(r.Project) && f.after(r) && strings.Contains(r.WorkflowID+" "+r.Chain+" "+r.AlertType, f.Search) &&
		(f.Status == "" || r.Status == f.Status) && (f.Chain == "" || r.Chain == f.Chain) &&
		(f.AlertType == "" || r.AlertType == f.AlertType) && (f.Tenant == "" || r.Tenant == f.Tenant) &&
		(f.Session == "" || r.Session == f.Session) && f.hasMetadata(r.Metadata) && !r.StartedAt.Before(f.Since) &&
		(!f.Open || r.EndedAt == nil) && !(f.NoTrials && r.Envelope.Trial) &&
		(!f.NeedsMe || r.EndedAt == nil && slices.Contains(NeedsMe, string(r.Status)))
}

// sees reports whether the filter allows the project.
func (f Filter) sees(project string) bool {
	return f.Projects == nil || slices.Contains(f.Projects, cmp.Or(project, agent.DefaultProject))
}

// after reports whether the record comes after the filter's first place, newest first.
func (f Filter) after(r Investigation) bool {
	by := r.StartedAt.Compare(f.Before.StartedAt)
	return f.Before.ID == "" || by < 0 || by == 0 && r.ID < f.Before.ID
}

func (f Filter) hasMetadata(all map[string]string) bool {
	for key, value := range f.Metadata {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// ActFilter selects acts. Zero values do not filter.
type ActFilter struct {
	Investigation string // ID of the investigation
	Since         time.Time
	Who, Tool     string
	What          audit.What // empty means all
	// Project selects acts about a project's investigations, virtual agents and rules. The store knows no project for
	// conversations.
	Project string
	// Limit bounds the acts of one investigation, in chain order and after number After; 0 means all.
	Limit int
	After int64
}

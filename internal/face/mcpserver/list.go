package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// maxLine limits a one-line description, in characters.
const maxLine = 300

// Outline is an investigation in a list.
type Outline struct {
	ID        string          `json:"id"`
	Project   string          `json:"project"`
	Chain     string          `json:"chain,omitempty"`
	AlertType string          `json:"alert_type,omitempty"`
	About     string          `json:"about,omitempty"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	Caveats   []string        `json:"caveats,omitempty" nullable:"false" doc:"limits of the report: repeat them whenever you state the cause"`
	Summary   string          `json:"summary,omitempty"`
	Score     *int            `json:"score,omitempty" doc:"score from 0 to 100"`
	Review    *record.Review  `json:"review,omitempty" doc:"state of the review; absent until the investigation has ended"`
	StartedAt time.Time       `json:"started_at,omitzero"`
	EndedAt   *time.Time      `json:"ended_at,omitempty"`
}

func outlineOf(r system.Listed) Outline {
	return Outline{
		ID: r.ID, Project: r.Project, Chain: r.Chain, AlertType: r.AlertType, About: r.About, Status: r.Status, EndReason: r.EndReason,
		Error: clip.Line(r.Error, maxLine), Caveats: r.Envelope.Caveats(),
		Summary: r.Envelope.Summary, Score: r.Score, Review: r.Review, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
	}
}

type learningsArgs struct {
	Project       string `json:"project,omitempty" maxLength:"63" doc:"project (default: the project named default, or your only one)"`
	Search        string `json:"q,omitempty" maxLength:"1000" doc:"search words; learnings that contain at least one of them match"`
	Investigation string `json:"investigation,omitempty" maxLength:"1000" doc:"only learnings from the investigation with this ID"`
	Limit         int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20"`
	Cursor        string `json:"cursor,omitempty" maxLength:"100" doc:"value of next in the previous page"`
}

type learningsOut struct {
	Items  []system.Learning `json:"items" nullable:"false"`
	Next   string            `json:"next,omitempty" doc:"value of cursor for the next page; absent means that this is the last page"`
	Notice string            `json:"notice"`
}

func (m *server) learningsTool(ctx context.Context, _ *mcp.CallToolRequest, in learningsArgs) (learningsOut, error) {
	found, err := do(ctx, m, system.ListLearnings, system.LearningsIn{
		ProjectIn: system.ProjectIn{Project: in.Project}, Search: in.Search, Investigation: in.Investigation, Limit: in.Limit, Cursor: in.Cursor,
	})
	return learningsOut{append([]system.Learning{}, found.Items...), found.Next, untrusted}, err
}

type listArgs struct {
	Status  string    `json:"status,omitempty" maxLength:"40" doc:"only investigations with this status, such as running, completed or failed"`
	Chain   string    `json:"chain,omitempty" maxLength:"200"`
	Search  string    `json:"q,omitempty" maxLength:"200" doc:"words of the alert, report or names, or part of an ID, chain or alert type"`
	Since   time.Time `json:"since,omitzero" doc:"only investigations started at or after this time"`
	NeedsMe bool      `json:"needs_me,omitempty" doc:"only investigations that need a person's attention"`
	Review  string    `json:"review,omitempty" enum:"needs_review,in_progress,reviewed" doc:"only those whose review has this state"`
	Project string    `json:"project,omitempty" maxLength:"63"`
	Limit   int       `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20"`
	Cursor  string    `json:"cursor,omitempty" maxLength:"2000" doc:"value of next in the previous page"`
}

type listOut struct {
	Items  []Outline `json:"items" nullable:"false"`
	Next   string    `json:"next,omitempty" doc:"value of cursor for the next page; absent means that this is the last page"`
	Notice string    `json:"notice"`
}

func (m *server) listTool(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (listOut, error) {
	found, err := do(ctx, m, system.ListInvestigations, system.ListIn{
		Status: in.Status, Chain: in.Chain, Search: in.Search, Since: in.Since, NeedsMe: in.NeedsMe, Review: in.Review, Project: in.Project,
		Limit: in.Limit, Cursor: in.Cursor,
	})
	out := listOut{Items: []Outline{}, Next: found.Next, Notice: untrusted}
	for _, r := range found.Items {
		out.Items = append(out.Items, outlineOf(r))
	}
	return out, err
}

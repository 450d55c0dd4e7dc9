package system

import (
	"context"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
)

// Learner shows and changes what investigations taught.
type Learner interface {
	Learnings(ctx context.Context, in LearningsIn) (Page[Learning], error)
	Learning(ctx context.Context, in GetLearningIn) (LearningWhole, error)
	EditLearning(ctx context.Context, in EditLearningIn, by agent.Identity) (Learning, error)
	DeleteLearning(ctx context.Context, in LearningIn, by agent.Identity) error
	// Taught returns all learnings from an investigation, and the investigations that received them.
	Taught(ctx context.Context, in TaughtIn) (Taught, error)
	// WithdrawLearnings withdraws all learnings from an investigation in one step.
	WithdrawLearnings(ctx context.Context, in WithdrawIn, by agent.Identity) (Taught, error)
}

// Learning is a lesson from an investigation for later ones of its project.
type Learning struct {
	ID            string            `json:"id" doc:"ID of the learning, unique in its project, such as L17"`
	Project       string            `json:"project"`
	Kind          learning.Kind     `json:"kind" enum:"semantic,episodic,procedural"`
	Polarity      learning.Polarity `json:"polarity" enum:"positive,negative,neutral"`
	Text          string            `json:"text"`
	Confidence    float64           `json:"confidence" doc:"current confidence, from 0 to 1"`
	Chain         string            `json:"chain,omitempty"`
	AlertType     string            `json:"alert_type,omitempty"`
	Investigation string            `json:"from" doc:"ID of the investigation that produced the learning"`
	Rows          []int64           `json:"rows,omitempty" doc:"seq of the transcript entries that support the learning"`
	Untrusted     []string          `json:"untrusted,omitempty" doc:"sources of untrusted text that the investigation's agents had read"`
	Confirmed     int               `json:"confirmed,omitempty" doc:"number of later investigations that confirmed the learning"`
	Contradicted  int               `json:"contradicted,omitempty" doc:"number of later investigations that contradicted the learning"`
	Created       time.Time         `json:"created"`
	Changed       time.Time         `json:"changed" doc:"time of the last change, confirmation or contradiction"`
	EditedBy      string            `json:"edited_by,omitempty"`
	// Withdrawn is set if prompts and tools no longer show it.
	Withdrawn *learning.Withdrawn `json:"withdrawn,omitempty" doc:"who withdrew the learning and why; agents that start later do not see it"`
}

// LearningOf returns a learning with its confidence at a time.
func LearningOf(l learning.Learning, now time.Time) Learning {
	return Learning{
		ID: learning.Name(l.ID), Project: l.Project, Kind: l.Kind, Polarity: l.Polarity, Text: l.Text, Confidence: learning.Current(l, now),
		Chain: l.Chain, AlertType: l.AlertType, Investigation: l.Investigation, Rows: l.Rows, Untrusted: l.Untrusted,
		Confirmed: l.Confirmed, Contradicted: l.Contradicted, Created: l.Created, Changed: l.Changed, EditedBy: l.EditedBy,
		Withdrawn: l.Withdrawn,
	}
}

// LearningRead says that an investigation or a conversation got a learning.
type LearningRead struct {
	Learning      string       `json:"learning"`
	Investigation string       `json:"investigation"`
	How           learning.How `json:"how" enum:"shown,recalled" doc:"shown: in an agent's prompt; recalled: returned by a tool"`
	At            time.Time    `json:"at"`
}

// LearningReads is a page of reads, oldest first. The first page has the newest reads.
type LearningReads struct {
	Reads     []LearningRead `json:"reads" doc:"uses of the learnings, even deleted ones, by other investigations and conversations"`
	MoreReads bool           `json:"more_reads,omitempty" doc:"true if there are older reads than those listed here"`
	Next      string         `json:"next,omitempty" doc:"for older reads: cursor of GET …/investigations/ID/learnings or …/learnings/LEARNING"`
}

// LearningWhole is a learning, and who got it.
type LearningWhole struct {
	Learning
	LearningReads
}

// Taught holds the learnings from an investigation, and the investigations that received them.
type Taught struct {
	Investigation string     `json:"id"`
	Learnings     []Learning `json:"learnings"`
	Deleted       []string   `json:"deleted,omitempty" doc:"IDs of deleted learnings"`
	LearningReads
	Judged []Judged `json:"judged" doc:"learnings of other investigations that this one confirmed or contradicted"`
}

// Judged is a confirmation or a contradiction of a learning.
type Judged struct {
	Learning string `json:"learning"`
	Confirms bool   `json:"confirms" doc:"true if it confirmed the learning, false if it contradicted it"`
	Undone   bool   `json:"undone,omitempty" doc:"no longer counts: the investigation was rated inaccurate, or its learnings were withdrawn"`
}

// LearningsIn selects learnings of a project.
type LearningsIn struct {
	ProjectIn
	Search        string `query:"q" maxLength:"1000" doc:"search words; learnings that contain at least one of them match"`
	Investigation string `query:"investigation" maxLength:"1000" doc:"only learnings from the investigation with this ID"`
	Withdrawn     bool   `query:"withdrawn" doc:"also return withdrawn learnings"`
	Limit         int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor        string `query:"cursor" maxLength:"100" doc:"value of next in the previous page"`
}

// LearningIn is the path of a learning.
type LearningIn struct {
	ProjectIn
	Learning string `path:"learning" maxLength:"20" doc:"ID of the learning, such as L17"`
}

// ReadsIn selects a page of reads.
type ReadsIn struct {
	Cursor string `query:"cursor" maxLength:"4000" doc:"value of next in the previous answer: returns the next older reads"`
}

// GetLearningIn selects a learning and a page of its reads.
type GetLearningIn struct {
	LearningIn
	ReadsIn
}

// TaughtIn selects an investigation and a page of the reads of its learnings.
type TaughtIn struct {
	ByID
	ReadsIn
}

// EditLearningIn changes a learning.
type EditLearningIn struct {
	LearningIn
	Body LearningEdit
}

// LearningEdit holds the new values. Absent ones stay as they are.
type LearningEdit struct {
	Kind       *learning.Kind     `json:"kind,omitempty" enum:"semantic,episodic,procedural"`
	Polarity   *learning.Polarity `json:"polarity,omitempty" enum:"positive,negative,neutral"`
	Text       *string            `json:"text,omitempty" maxLength:"500"`
	Confidence *float64           `json:"confidence,omitempty" minimum:"0" maximum:"1"`
}

// WithdrawIn withdraws all learnings from an investigation.
type WithdrawIn struct {
	ByID
	Body WithdrawBody
}

// WithdrawBody says why learnings are withdrawn.
type WithdrawBody struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why the learnings are wrong; recorded with each of them"`
}

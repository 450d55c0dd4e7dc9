package system

import (
	"strings"
	"time"

	"github.com/inquest-dev/inquest/workflows"
)

// Handle is an investigation or a conversation.
type Handle struct {
	Workflow string // workflow ID
	First    string // ID of its first run; empty means unknown
	Open     bool   // it was running when it was found
	// Known means that it existed before the attempt to start it.
	Known bool
}

// HandleOf returns a handle made from an ID alone.
func HandleOf(id string, open bool) Handle {
	h := Handle{Workflow: id, Open: open}
	if workflowID, whole := workflows.WorkflowOf(id); whole {
		h.Workflow, h.First = workflowID, strings.TrimPrefix(id, workflowID+":")
	}
	return h
}

// ID returns the investigation's ID, or the workflow's ID if the first run is unknown.
func (h Handle) ID() string {
	if h.First == "" {
		return h.Workflow
	}
	return workflows.InvestigationID(h.Workflow, h.First)
}

// AcceptTimeout limits calls to Temporal and the acceptance of a request by a worker. It exceeds the time for which a dead worker can
// still hold a workflow task.
const AcceptTimeout = workflows.WorkflowTaskTimeout + 3*time.Second

package record

import "time"

// Worker is a running worker's description of its program, for checking an upgrade.
type Worker struct {
	// Identity is the worker's name in Temporal: its process ID and host.
	Identity string `json:"identity"`
	// Version and Commit are those of the program; Commit may be empty.
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Schema is the newest migration of the store, and Plan the newest version of a plan, that the program knows.
	Schema int64 `json:"schema"`
	Plan   int   `json:"plan"`
	// Changes are the IDs of the workflow changes that the program knows: see workflows.Changes.
	Changes []string `json:"changes,omitempty"`
	// Seen is when the worker last announced itself.
	Seen time.Time `json:"seen,omitzero"`
}

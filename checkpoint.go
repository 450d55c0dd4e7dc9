package inquest

import (
	"errors"

	"github.com/inquest-dev/inquest/internal/store"
)

// CheckpointType is the kind of storage for checkpoints.
type CheckpointType string

// The types of checkpoint: MemoryStore, a SQLite file, a PostgreSQL database.
const (
	CheckpointMemory   CheckpointType = "memory"
	CheckpointSQLite   CheckpointType = "sqlite"
	CheckpointPostgres CheckpointType = "postgres"
)

// store returns the checkpoint in the form that Options.Store takes.
func (b *Builder) store() (string, error) {
	switch {
	case b.checkpoint == "" && b.path == "":
		return "", nil
	case b.checkpoint == CheckpointMemory:
		return MemoryStore, nil
	case b.checkpoint == CheckpointSQLite && b.path == "":
		return "", errors.New("checkpoint_path is required when checkpoint_type='sqlite'")
	case b.checkpoint == CheckpointPostgres && !store.IsDSN(b.path): // not shown: it may hold a password
		return "", errors.New("checkpoint_path must be a postgres:// address when checkpoint_type='postgres'")
	case b.checkpoint == CheckpointSQLite, b.checkpoint == CheckpointPostgres:
		return b.path, nil
	}
	return "", errors.New("checkpoint_type must be 'memory', 'sqlite' or 'postgres'")
}

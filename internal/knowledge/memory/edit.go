package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
)

// BlockEdit is a person's change to a block, even one that is read-only for the agent. Nil fields stay unchanged.
type BlockEdit struct {
	Value       string  `json:"value" maxLength:"100000"`
	Description *string `json:"description,omitempty" maxLength:"10000" doc:"purpose of the block, shown to the agent; absent means unchanged"`
	Limit       *int    `json:"limit,omitempty" minimum:"1" doc:"maximum characters of the value; absent means unchanged, or 20000 if new"`
	ReadOnly    *bool   `json:"read_only,omitempty" doc:"the agent cannot change the block; absent means unchanged"`
}

// ErrBlock means that the requested block is invalid.
var ErrBlock = errors.New("the block is refused")

// Edit writes an existing or a new block. The error may be an ErrBlock.
func Edit(ctx context.Context, tx Tx, label string, e BlockEdit) (Block, error) {
	b, found, err := tx.Block(ctx, label)
	if err != nil {
		return b, err
	}
	if !found {
		b = Block{Label: label, Limit: agent.DefaultMemoryLimit}
		blocks, err := tx.Blocks(ctx)
		if err != nil {
			return b, err
		}
		if len(blocks) >= agent.MaxMemoryBlocks {
			return b, fmt.Errorf("%w: an agent can have at most %d blocks", ErrBlock, agent.MaxMemoryBlocks)
		}
	}
	b.Value = e.Value
	if e.Description != nil {
		b.Description = *e.Description
	}
	if e.Limit != nil {
		b.Limit = *e.Limit
	}
	if e.ReadOnly != nil {
		b.ReadOnly = *e.ReadOnly
	}
	if err := b.Validate(); err != nil {
		return b, fmt.Errorf("%w: %w", ErrBlock, err)
	}
	return b, tx.PutBlock(ctx, b)
}

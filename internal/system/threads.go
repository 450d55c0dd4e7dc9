package system

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
)

// FormatJSON is the format of an exported conversation for programs. The other one is Markdown.
const FormatJSON = "json"

// Keeper shows, exports and deletes conversations, open and closed ones.
type Keeper interface {
	// AllThreads returns a page of conversations, newest first.
	AllThreads(ctx context.Context, in ThreadsIn) (Page[Thread], error)
	// FindTurns returns the turns with all of some words, the best matches first.
	FindTurns(ctx context.Context, in FindTurnsIn) (Page[FoundTurn], error)
	// Talk returns the conversation with an ID, or the latest with a name. It returns record.ErrNotFound if there is none.
	Talk(ctx context.Context, id string) (Talk, error)
	// ExportThread returns a conversation with its whole texts, as Markdown or JSON.
	ExportThread(ctx context.Context, in ExportThreadIn) ([]byte, error)
	// DeleteThread closes a conversation, waits for its end, and deletes everything that belongs to it. It returns an *InputError
	// if a turn is running, or if the name belongs to several conversations.
	DeleteThread(ctx context.Context, id string, by agent.Identity) (Named, error)
}

package remote

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// AllThreads returns a page of conversations.
func (k *keeper) AllThreads(ctx context.Context, in system.ThreadsIn) (system.Page[system.Thread], error) {
	in.Closed = true
	return do(ctx, k, system.ListConversations, in)
}

// FindTurns searches conversations.
func (k *keeper) FindTurns(ctx context.Context, in system.FindTurnsIn) (system.Page[system.FoundTurn], error) {
	return do(ctx, k, system.FindTurns, in)
}

// Talk returns a conversation.
func (k *keeper) Talk(ctx context.Context, id string) (system.Talk, error) {
	return do(ctx, k, system.GetConversation, system.ThreadIn{ID: id})
}

// ExportThread returns a conversation as a file.
func (k *keeper) ExportThread(ctx context.Context, in system.ExportThreadIn) (content []byte, err error) {
	to := requestOf(system.ExportConversation.Operation, in)
	to.header.Set("Accept", "*/*")
	err = k.exchange(ctx, timeout, to, &content)
	return content, err
}

// DeleteThread deletes a conversation. The API knows who calls it.
func (k *keeper) DeleteThread(ctx context.Context, id string, _ agent.Identity) (system.Named, error) {
	return do(ctx, k, system.DeleteConversation, system.ThreadIn{ID: id})
}

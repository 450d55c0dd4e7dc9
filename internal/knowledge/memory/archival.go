package memory

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

func insertArchival(ctx context.Context, tx Tx, a args) (tool.Result, error) {
	n, err := tx.CountArchival(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if n >= MaxArchival {
		return failure("Archival entry limit exceeded: %d", MaxArchival), nil
	}
	id, err := tx.InsertArchival(ctx, a.texts[paramContent])
	return success(err, fmt.Sprintf("Successfully inserted into archival memory. Entry ID: %d", id))
}

func searchArchival(ctx context.Context, tx Tx, a args) (tool.Result, error) {
	entries, err := tx.SearchArchival(ctx, a.texts[paramQuery], a.page)
	var rows []string
	for _, e := range entries {
		rows = append(rows, fmt.Sprintf("[%d] %s", e.ID, e.Content))
	}
	return success(err, found(rows, a.page, "No results found"))
}

func searchConversation(ctx context.Context, tx Tx, a args) (tool.Result, error) {
	messages, err := tx.SearchConversation(ctx, a.texts[paramQuery], a.page)
	var rows []string
	for _, m := range messages {
		rows = append(rows, fmt.Sprintf("[%s]: %s", roleName(m.Role), shorten(m.Content)))
	}
	return success(err, found(rows, a.page, "No matching conversations found"))
}

func found(rows []string, page int, none string) string {
	if len(rows) == 0 {
		return none
	}
	return fmt.Sprintf("Found %d results (page %d):\n%s", len(rows), page, strings.Join(rows, "\n---\n"))
}

func roleName(role agent.Role) string {
	if role == agent.User {
		return "User"
	}
	return "Assistant"
}

// maxMessage is the maximum length of a message in search results, in bytes, because a request may contain a whole alert.
const maxMessage = 8_000

func shorten(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return fmt.Sprintf("%s…\n[truncated, %d total characters]", clip.Bytes(text, maxMessage), utf8.RuneCountInString(text))
}

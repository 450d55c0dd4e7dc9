package memory

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

func appendToBlock(ctx context.Context, tx Tx, a args) (tool.Result, error) {
	label, content := a.texts[paramLabel], a.texts[paramContent]
	b, found, err := tx.Block(ctx, label)
	if err != nil {
		return tool.Result{}, err
	}
	if !found {
		b = Block{Label: label, Limit: agent.DefaultMemoryLimit}
		if refusal, err := refuseNew(ctx, tx, b); err != nil || refusal != nil {
			return value(refusal), err
		}
	}
	if b.ReadOnly {
		return readOnly(label), nil
	}
	if b.Value != "" {
		content = "\n" + content
	}
	if size := b.Size() + utf8.RuneCountInString(content); size > b.Limit {
		return overLimit(b, size), nil
	}
	b.Value += content
	return success(tx.PutBlock(ctx, b), "Successfully updated memory block '"+label+"'")
}

// refuseNew returns why block b cannot be added; nil means that it can.
func refuseNew(ctx context.Context, tx Tx, b Block) (*tool.Result, error) {
	if problem := b.LabelProblem(); problem != "" {
		return invalid("Error: invalid label '%s': %s", b.Label, problem), nil
	}
	blocks, err := tx.Blocks(ctx)
	if err == nil && len(blocks) >= agent.MaxMemoryBlocks {
		refusal := failure("Memory block limit exceeded: %d", agent.MaxMemoryBlocks)
		return &refusal, nil
	}
	return nil, err
}

func replaceInBlock(ctx context.Context, tx Tx, a args) (tool.Result, error) {
	label, old, replacement := a.texts[paramLabel], a.texts[paramOld], a.texts[paramNew]
	b, found, err := tx.Block(ctx, label)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !found:
		return failure("Block '%s' not found", label), nil
	case b.ReadOnly:
		return readOnly(label), nil
	case old == "" || !strings.Contains(b.Value, old):
		return failure("Content '%s' not found in block '%s'", old, label), nil
	}
	// Checked before the replacement, because many occurrences of a short text can become a long one.
	longer := utf8.RuneCountInString(replacement) - utf8.RuneCountInString(old)
	if size := b.Size() + strings.Count(b.Value, old)*longer; longer > 0 && size > b.Limit {
		return overLimit(b, size), nil
	}
	b.Value = strings.ReplaceAll(b.Value, old, replacement)
	return success(tx.PutBlock(ctx, b), "Successfully replaced content in memory block '"+label+"'")
}

func readOnly(label string) tool.Result { return failure("Block '%s' is read-only", label) }

func overLimit(b Block, size int) tool.Result {
	return failure("Block '%s' would have %d characters, more than its limit of %d", b.Label, size, b.Limit)
}

// success returns the result of a change, or its error.
func success(err error, text string) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Success(text), nil
}

func value(r *tool.Result) tool.Result {
	if r == nil {
		return tool.Result{}
	}
	return *r
}

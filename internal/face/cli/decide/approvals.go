package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// size is the amount of text to read in a call, which is printed below the table.
func size(a record.Approval) string {
	text := fmt.Sprintf("%d bytes", a.Bytes())
	if a.Hidden > 0 {
		text += fmt.Sprintf(", %d hidden", a.Hidden)
	}
	return text
}

// fetchArguments replaces truncated arguments with the complete ones from the store.
func fetchArguments(ctx context.Context, c *base.CLI, all []thing) (lacking error) {
	for n := range all {
		if all[n].Approval == nil {
			continue
		}
		err := c.Client().Text(ctx, &all[n].Arguments, all[n].ArgumentsRef)
		if errors.Is(err, system.ErrNoStore) {
			c.SayNoStore()
			return nil
		}
		if err != nil {
			lacking = errors.Join(lacking, fmt.Errorf("the arguments of %s: %w", all[n].Name, err))
		}
	}
	return lacking
}

// indented formats the arguments of a call, one line per key. It marks every truncation.
func indented(a record.Approval) string {
	const margin = "  "
	return margin + terminal.Clean(reveal.Indented(a.Arguments, margin)) + cutNotice(a)
}

func expiresIn(at time.Time) string {
	if at.IsZero() {
		return "paused"
	}
	return record.Span(time.Until(at))
}

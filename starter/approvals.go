package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
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
func fetchArguments(ctx context.Context, c *cli, all []thing) (lacking error) {
	for n := range all {
		if all[n].Approval == nil {
			continue
		}
		err := c.client().Text(ctx, &all[n].Arguments, all[n].ArgumentsRef)
		if errors.Is(err, client.ErrNoStore) {
			c.sayNoStore()
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

// maxShown is the longest text in a table, in characters.
const maxShown = 60

// shorten shortens a text to fit into a table.
func shorten(text string) string {
	return clip.Fit(terminal.CleanLine(text), maxShown)
}

func expiresIn(at time.Time) string {
	if at.IsZero() {
		return "paused"
	}
	return record.Span(time.Until(at))
}

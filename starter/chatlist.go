package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// listChats lists the conversations that are open, newest first.
func (c *cli) listChats(ctx context.Context, f chatFlags) error {
	open, err := c.client().Threads(ctx, f.agent, f.limit)
	if err != nil {
		return err
	}
	if f.json {
		return c.printJSON(append([]client.Thread{}, open...)) // never null
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "THREAD\tAGENT\tSINCE\t"+usageTitles)
	for _, o := range open {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.CleanLine(o.Thread), terminal.CleanLine(o.Agent), o.Since.Local().Format(time.DateTime),
			usageCells(o.Usage))
	}
	return w.Flush()
}

package slack

import (
	"context"
	"strings"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	wordCancel = "cancel"
	wordExtend = "extend"
)

// steer carries out a message in the thread of a running investigation. A message that consists of one of the words is a command,
// and any other is guidance for the agents.
func (w work) steer(ctx context.Context, investigation string) error {
	word := strings.ToLower(strings.TrimSpace(w.Text))
	to := system.ByID{ID: investigation}
	if duration, found := strings.CutPrefix(word, wordExtend+" "); found && len(strings.Fields(duration)) == 1 {
		_, err := do(ctx, w.Face, system.ExtendBudget, system.Steer[system.ExtendBody]{
			ByID: to, Body: system.ExtendBody{Duration: strings.TrimSpace(duration)},
		})
		return w.done(ctx, investigation, system.ExtendBudget.Name, err)
	}
	switch word {
	case "":
		return nil
	case wordExtend:
		return w.tell(ctx, w.input, "Tell me by how much, for example: extend 30m")
	case wordCancel:
		_, err := do(ctx, w.Face, system.Cancel, to)
		return w.done(ctx, investigation, system.Cancel.Name, err)
	}
	signal, isWord := system.SignalNamed(word)
	if !isWord || signal.HasText() || !signal.Tool {
		signal, _ = system.SignalNamed(workflows.SignalGuide)
	}
	request, err := signal.Request(investigation, signal.Payload(w.Text, system.Target{}, ""))
	if err != nil {
		return err
	}
	out := system.Steered{}
	return w.done(ctx, investigation, signal.Name, w.opts.Operations.Call(ctx, signal.Operation(), request, &out))
}

// done tells the person how an operation went.
func (w work) done(ctx context.Context, investigation, operation string, err error) error {
	if err != nil {
		return w.failed(ctx, investigation, operation, err)
	}
	return w.tell(ctx, w.input, "Done: "+operation+".")
}

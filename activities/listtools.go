package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// listTimeout is how long a server may take to list its tools. It is shorter than the activity's timeout of a minute.
const listTimeout = 45 * time.Second

// ListTools asks one MCP server for its tools and keeps the catalogue for the execution. On the last try, a server that
// cannot be reached gets a catalogue with an error: the agent continues without it and is told.
func (a *Activities) ListTools(ctx context.Context, in ListToolsIn) (ListToolsOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.listTools(ctx, in)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) listTools(ctx context.Context, in ListToolsIn) (ListToolsOut, error) {
	j, err := a.job(ctx, in.Ref)
	if err != nil {
		return ListToolsOut{}, err
	}
	server, ok := j.server(in.Server)
	if !ok {
		return ListToolsOut{}, final(ErrorNotFound, fmt.Errorf("agent %s has no server %q", j.agent.Name, in.Server))
	}
	catalogue, err := j.catalogue(ctx, server)
	switch {
	case err != nil:
		return ListToolsOut{}, err
	case catalogue.Error != "" && !in.Last:
		return ListToolsOut{}, serverUnavailable(catalogue.Away, fmt.Errorf("%s: %s: %s", in.Server, catalogue.Error, catalogue.Words))
	}
	if err := j.compare(ctx, &catalogue); err != nil {
		return ListToolsOut{}, err
	}
	if err := a.Transcripts.SaveCatalogue(ctx, in.Ref.scope(), catalogue); err != nil {
		return ListToolsOut{}, fmt.Errorf("keep the tools of %s: %w", in.Server, err)
	}
	return ListToolsOut{Tools: len(catalogue.Tools), Error: preview(catalogue.Error)}, nil
}

// catalogue returns a server's current offer, with its prose masked. If the server cannot be reached, the catalogue
// holds the error.
func (j *job) catalogue(ctx context.Context, server plan.Server) (tool.Catalogue, error) {
	out := tool.Catalogue{Server: server.Name}
	masker, err := j.maskers.get(j.agent.MaskingOf(server.Name, nil))
	if err != nil {
		return out, final(ErrorMasking, err)
	}
	asking, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	out.Tools, err = j.Servers.List(asking, server, j.ref.session())
	if err != nil && ctx.Err() != nil {
		return out, err
	}
	if err != nil {
		out.Error, out.Words = whyUnlisted(err), MaskWords(ctx, masker, err.Error())
		if failed, ok := errors.AsType[*tool.ServerError](err); ok {
			out.Away = failed.Away
		}
	}
	MaskTools(ctx, masker, out.Tools)
	return out, nil
}

// Reasons why a server has no tools to offer, if no error explains it.
const (
	unlisted  = "its tools could not be listed"
	notListed = "it has not listed its tools yet" // the request is in progress
)

// whyUnlisted explains the error in our own words, because it goes into a prompt and into history.
func whyUnlisted(err error) string {
	if failed, ok := errors.AsType[*tool.ServerError](err); ok {
		return failed.Why
	}
	return unlisted
}

// compare records how the tools differ from those that the server last listed, for any execution.
func (j *job) compare(ctx context.Context, catalogue *tool.Catalogue) error {
	if catalogue.Error != "" {
		return nil
	}
	if noted, err := j.noted(ctx, catalogue); noted || err != nil {
		return err
	}
	last, err := j.Transcripts.LastOffer(ctx, catalogue.Server)
	if err != nil {
		return err
	}
	for _, line := range tool.Changes(last, catalogue.Tools) {
		j.Logger.Warn("an MCP server changed its tools", "server", catalogue.Server, "change", line)
		catalogue.Changed = append(catalogue.Changed, line)
	}
	return nil
}

// noted reports whether this execution has stored the same tools before. Their changes must still be reported, because
// the attempt that stored them may have died before it could answer.
func (j *job) noted(ctx context.Context, now *tool.Catalogue) (bool, error) {
	hashes, err := j.Transcripts.Catalogues(ctx, j.ref.scope())
	if err != nil {
		return false, err
	}
	for _, hash := range hashes {
		kept, err := j.offers.get(ctx, j.Blobs, "tool catalogue", hash)
		if err != nil {
			return false, err
		}
		if kept.Server == now.Server && kept.Error == "" && len(kept.Tools) == len(now.Tools) && len(tool.Changes(kept, now.Tools)) == 0 {
			now.Changed = kept.Changed
			return true, nil
		}
	}
	return false, nil
}

// notAvailable begins the notice about a server without tools.
func notAvailable(server string) string { return fmt.Sprintf("Server %s is not available: ", server) }

// addRecovered announces the servers that have listed their tools since the transcript said that they were unavailable.
func (g *generation) addRecovered(stored []transcript.Entry) {
	for _, c := range g.listed {
		if c.Error != "" {
			continue
		}
		there := prompt.ServerAvailable(c.Server)
		for _, e := range slices.Backward(stored) {
			if e.Kind == transcript.KindUser && e.Text == there {
				break
			}
			if e.Kind == transcript.KindNotice && strings.HasPrefix(e.Text, notAvailable(c.Server)) {
				g.add(transcript.KindUser, transcript.Body{Text: there})
				break
			}
		}
	}
}

// maxNoticed is the maximum number of lines in a notice.
const maxNoticed = 20

// notices returns the notices for people, in the transcript: which of the agent's servers could not be reached or have
// changed, and which tools are unusable or left out.
func (j *job) notices() (texts []string) {
	for _, c := range j.listed {
		var lines []string
		if c.Error != "" {
			lines = append(lines, fmt.Sprintf("%s%s. Its message: %s", notAvailable(c.Server), c.Error, cmp.Or(c.Words, "none")))
		}
		for _, line := range c.Changed {
			line = reveal.Text(strings.Join(strings.Fields(line), " "))
			lines = append(lines, fmt.Sprintf("Server %s has changed its tools: %s", c.Server, line))
		}
		for _, spec := range c.Tools {
			if spec.Unusable != "" {
				lines = append(lines, fmt.Sprintf("Tool %s cannot be used: %s", reveal.Name(spec.Name), spec.Unusable))
			}
		}
		if more := len(lines) - maxNoticed; more > 0 {
			lines = append(lines[:maxNoticed], fmt.Sprintf("and %d more of server %s", more, c.Server))
		}
		if len(lines) > 0 {
			texts = append(texts, strings.Join(lines, "\n"))
		}
	}
	if j.tools == nil {
		return texts
	}
	leftOut := j.tools.LeftOut()
	if more := len(leftOut) - maxNoticed; more > 0 {
		leftOut = append(leftOut[:maxNoticed], fmt.Sprintf("%d more tools are left out because of their names.", more))
	}
	if len(leftOut) > 0 {
		texts = append(texts, strings.Join(leftOut, "\n"))
	}
	return texts
}

func (j *job) server(name string) (plan.Server, bool) {
	for _, s := range j.agent.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return plan.Server{}, false
}

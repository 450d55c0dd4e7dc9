package toolcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// listTimeout is how long a server may take to list its tools. It is shorter than the activity's timeout of a minute.
const listTimeout = 45 * time.Second

// List is the activity ListTools.
func List(ctx context.Context, a *job.Worker, in job.ListToolsIn) (job.ListToolsOut, error) {
	ctx, stop := a.Attend(ctx)
	defer stop()
	out, err := listTools(ctx, a, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func listTools(ctx context.Context, a *job.Worker, in job.ListToolsIn) (job.ListToolsOut, error) {
	j, err := a.Job(ctx, in.Ref)
	if err != nil {
		return job.ListToolsOut{}, err
	}
	server, ok := j.Server(in.Server)
	if !ok {
		return job.ListToolsOut{}, job.Final(job.ErrorNotFound, fmt.Errorf("agent %s has no server %q", j.Agent.Name, in.Server))
	}
	if j.Plan.Fork.Part(in.Ref.Execution).Closed() {
		return Calls{j}.sharedList(ctx, in.Server)
	}
	var catalogue tool.Catalogue
	if j.Plan.Fork.AnsweredBy() == agent.ForkTape {
		catalogue, err = Calls{j}.recordedList(ctx, server)
	} else {
		catalogue, err = Calls{j}.presentList(ctx, server, in)
	}
	if err != nil {
		return job.ListToolsOut{}, err
	}
	if err := a.Transcripts.SaveCatalogue(ctx, in.Ref.Scope(), catalogue); err != nil {
		return job.ListToolsOut{}, fmt.Errorf("keep the tools of %s: %w", in.Server, err)
	}
	out := job.ListToolsOut{Tools: len(catalogue.Tools)}
	switch {
	case catalogue.Error != "":
		out.Error, out.Detail = job.Preview(catalogue.Error), detail(catalogue)
	case out.Tools == 0:
		out.Error = "it lists no tools"
	}
	return out, nil
}

// presentList asks a server for its tools, and records how they have changed. The error says that the server may be asked again.
func (j Calls) presentList(ctx context.Context, server plan.Server, in job.ListToolsIn) (tool.Catalogue, error) {
	out, err := j.catalogue(ctx, server, cmp.Or(in.Within.D(), listTimeout))
	if err != nil {
		return out, err
	}
	if out.Error != "" && !in.Last && !(out.Failure.NotStarted && in.Within > 0) {
		return out, unlisted(out)
	}
	return out, j.compare(ctx, &out)
}

// sharedList returns the list of tools that a fork shares. The server is not asked, because the execution makes no calls of its own.
func (j Calls) sharedList(ctx context.Context, server string) (out job.ListToolsOut, err error) {
	if _, _, err = j.OfferedNow(ctx); err != nil {
		return out, err
	}
	n := slices.IndexFunc(j.Listed, func(c tool.Catalogue) bool { return c.Server == server })
	out.Tools, out.Error = len(j.Listed[n].Tools), j.Listed[n].Error
	return out, nil
}

// unlisted is the error for a server that may be asked again.
func unlisted(c tool.Catalogue) error {
	f := c.Failure
	away := job.ServerAway{Why: f.Away, Pending: plan.Duration(f.Pending), Running: f.Running, Output: job.Preview(f.Output)}
	return job.ServerUnavailable(away, fmt.Errorf("%s: %s: %s", c.Server, c.Error, detail(c)))
}

// detail explains a catalogue's error in one short line, without what its readers know. A program's last line says most.
func detail(c tool.Catalogue) string {
	words := c.Words
	for _, known := range []string{"list tools of", "start", "wait for"} {
		words = strings.TrimPrefix(words, fmt.Sprintf("%s MCP server %s: ", known, c.Server))
	}
	words = strings.TrimPrefix(words, "the session has ended: ")
	return clip.Ends(strings.Join(strings.Fields(words), " "), maxDetail)
}

// maxDetail is in characters.
const maxDetail = 300

// catalogue returns a server's current tools, with their prose masked. If the server does not list them within a time, or
// cannot, the catalogue holds the error.
func (j Calls) catalogue(ctx context.Context, server plan.Server, within time.Duration) (tool.Catalogue, error) {
	out := tool.Catalogue{Server: server.Name}
	masker, err := j.Maskers.Get(j.Agent.MaskingOf(server.Name, nil))
	if err != nil {
		return out, job.Final(job.ErrorMasking, err)
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out.Tools, err = j.Servers.List(asking, server, j.Ref.Session())
	if err != nil && ctx.Err() != nil {
		return out, err
	}
	failed, ofServer := errors.AsType[*tool.ServerError](err)
	switch {
	case err == nil:
	case ofServer && failed.Partial:
		out.Partial, out.Words = failed.Why, job.MaskWords(ctx, masker, err.Error())
	case ofServer:
		out.Error, out.Words, out.Failure = failed.Why, job.MaskWords(ctx, masker, err.Error()), *failed
		out.Failure.Output = job.MaskWords(ctx, masker, failed.Output)
	default:
		out.Error, out.Words = job.Unlisted, job.MaskWords(ctx, masker, err.Error())
	}
	job.MaskTools(ctx, masker, out.Tools)
	return out, nil
}

// compare records how the tools differ from the server's last list, requested by any execution.
func (j Calls) compare(ctx context.Context, catalogue *tool.Catalogue) error {
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
	for _, line := range tool.Changes(last, *catalogue) {
		j.Logger.Warn("an MCP server changed its tools", "server", catalogue.Server, "change", line)
		catalogue.Changed = append(catalogue.Changed, line)
	}
	return nil
}

// noted reports whether this execution has already stored the same tools. If so, it copies the recorded changes: the
// attempt that stored them may have died before it could report them.
func (j Calls) noted(ctx context.Context, now *tool.Catalogue) (bool, error) {
	hashes, err := j.Transcripts.Catalogues(ctx, j.Ref.Scope())
	if err != nil {
		return false, err
	}
	for _, hash := range hashes {
		kept, err := j.Offers.Get(ctx, j.Blobs, "tool catalogue", hash)
		if err != nil {
			return false, err
		}
		kept.Partial = "" // find new tools too
		if kept.Server == now.Server && kept.Error == "" && len(kept.Tools) == len(now.Tools) && len(tool.Changes(kept, *now)) == 0 {
			now.Changed = kept.Changed
			return true, nil
		}
	}
	return false, nil
}

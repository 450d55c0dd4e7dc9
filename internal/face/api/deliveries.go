package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/webhook"
)

const (
	maxUnusable = 100  // alerts named in a response
	maxNoted    = 20   // alerts of a delivery whose notes are logged
	maxWhy      = 1000 // bytes of one problem's description
	maxNotes    = 400  // bytes of an alert's notes in its request
	maxName     = 200  // bytes of a title, a fingerprint or a group name
	maxType     = 512  // bytes of an alert type, in a request

	maxBatch   = 100         // alerts in a transaction
	batchAfter = time.Second // a transaction with fewer of them
)

// receiving stores one delivery.
type receiving struct {
	base
	name     string
	hook     configuration.Hook
	who      access
	cfg      *configuration.Config
	masker   *mask.Masker // nil means no masking
	note     string       // about all alerts
	alerts   []webhook.Alert
	unusable []error
	noted    int // alerts whose notes were logged
	stored   bool
	changes  bool // the intake of alerts has something to look at
	counts   webhook.Counts
}

// store stores the alerts in batches. If it fails, the batches before are stored, and cost little when the delivery is repeated.
func (r *receiving) store(ctx context.Context) (err error) {
	for batch := range slices.Chunk(r.alerts, maxBatch) {
		if err = r.storeBatch(ctx, batch); err != nil {
			break
		}
	}
	if r.changes {
		err = cmp.Or(err, r.opts.System.AlertsReceived(ctx))
	}
	return err
}

func (r *receiving) storeBatch(ctx context.Context, batch []webhook.Alert) error {
	var alerts []webhook.Alert
	var found []webhook.Received
	for _, a := range batch {
		one, err := r.alert(ctx, &a)
		usable, err := r.usable(one, err)
		if err != nil {
			return err
		}
		if usable {
			alerts, found = append(alerts, a), append(found, one)
		}
	}
	if len(found) == 0 {
		return nil
	}
	known, err := r.opts.System.KnownAlerts(ctx, found)
	if err != nil {
		return err
	}
	ready, since := []webhook.Received(nil), time.Now()
	for n, one := range found {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if one.State == webhook.Firing && !known[n] {
			usable, err := r.usable(one, r.request(ctx, alerts[n], &one))
			if err != nil {
				return err
			}
			if !usable {
				continue
			}
		}
		if ready = append(ready, one); time.Since(since) < batchAfter {
			continue
		}
		if err := r.flush(ctx, ready); err != nil {
			return err
		}
		ready, since = nil, time.Now()
	}
	return r.flush(ctx, ready)
}

func (r *receiving) flush(ctx context.Context, ready []webhook.Received) error {
	if len(ready) == 0 {
		return nil
	}
	counts, err := r.opts.System.Receive(ctx, ready)
	if err != nil {
		return err
	}
	r.counts.Add(counts)
	r.stored = true
	// An alert that changes nothing may be the resend of one whose signal failed.
	r.changes = r.changes || slices.ContainsFunc(ready, func(a webhook.Received) bool { return a.State != webhook.Neither })
	return nil
}

// usable reports whether an alert can be used. It keeps the error of this alert alone for the response, and returns any other.
func (r *receiving) usable(one webhook.Received, err error) (bool, error) {
	if errors.As(err, new(*system.InputError)) || errors.As(err, new(huma.StatusError)) {
		r.unusable = append(r.unusable, fmt.Errorf("%.60q: %w", one.Title, err))
		return false, nil
	}
	return err == nil, err
}

// response logs the alerts that cannot be used and returns the response.
func (r *receiving) response(ctx context.Context) (system.Delivery, error) {
	out, errs := system.Delivery{Counts: r.counts}, []error{}
	for _, err := range r.unusable[:min(len(r.unusable), maxUnusable)] {
		why := clip.Text(r.masked(ctx, err.Error()), maxWhy)
		r.opts.Logger.WarnContext(ctx, "an alert cannot be used", "webhook", r.name, "error", why)
		out.Unusable, errs = append(out.Unusable, why), append(errs, errors.New(why))
	}
	if len(errs) > 0 && !r.stored {
		return out, huma.Error422UnprocessableEntity("none of the alerts can be used", errs...)
	}
	return out, nil
}

// masked returns a text for a note or an error.
func (r *receiving) masked(ctx context.Context, text string) string {
	if r.masker == nil {
		return text
	}
	text, err := r.masker.Text(ctx, text)
	if err != nil {
		return "[hidden: it could not be masked]"
	}
	return text
}

// alert converts an alert for the store, without its request. It masks the severity of a, and removes an unknown chain.
func (r *receiving) alert(ctx context.Context, a *webhook.Alert) (out webhook.Received, err error) {
	if a.Project == "" && r.who.name == "" && len(r.hook.Projects) > 0 && r.hook.Projects[0] != config.AllProjects {
		a.Project = r.hook.Projects[0]
	}
	out = webhook.Received{Webhook: r.name, State: a.State, StartsAt: a.StartsAt, Group: a.Group}
	if out.Project, err = r.who.owner(a.Project); err != nil {
		return out, err
	}
	for _, text := range []struct {
		to   *string
		from string
	}{{&out.Title, a.Title}, {&out.GroupName, a.GroupName}, {&out.Fingerprint, a.Fingerprint}, {&a.Severity, a.Severity}} {
		if r.masker != nil {
			if text.from, err = r.masker.Text(ctx, text.from); err != nil {
				return out, err
			}
		}
		*text.to = text.from
	}
	out.Title, out.GroupName = clip.Line(out.Title, maxName), clip.Line(out.GroupName, maxName)
	if len(a.Fingerprint) > maxName || out.Fingerprint != a.Fingerprint { // masking could make two fingerprints equal
		out.Fingerprint = webhook.Key(a.Fingerprint)
	}
	if a.Chain != "" && !r.cfg.ChainIn(a.Chain, out.Project) {
		a.Notes = append(a.Notes, fmt.Sprintf("chain %.60q was left out: the project has no such chain", r.masked(ctx, a.Chain)))
		a.Chain = ""
	}
	out.Notes = r.notes(ctx, a.Notes)
	return out, nil
}

// notes returns what the sender of an alert reported and could not be read, and logs it.
func (r *receiving) notes(ctx context.Context, found []string) (notes []string) {
	for _, note := range append(found, r.note) {
		if note != "" {
			notes = append(notes, clip.Line(note, maxName))
		}
	}
	if len(notes) > 0 && r.noted < maxNoted {
		r.noted++
		r.opts.Logger.WarnContext(ctx, "parts of an alert cannot be read", "webhook", r.name, "notes", notes)
	}
	return notes
}

// request builds the request for an investigation of this alert alone.
func (r *receiving) request(ctx context.Context, a webhook.Alert, out *webhook.Received) error {
	req := agent.Request{
		Chain: cmp.Or(a.Chain, r.hook.Chain), AlertType: clip.Bytes(a.Type, maxType), By: webhook.By(r.name, r.who.name),
		Again: true, // the store detects duplicates
		Labels: agent.Labels{Project: out.Project, Priority: a.Priority, Metadata: map[string]string{
			"webhook": r.name, "fingerprint": out.Fingerprint, "group": out.GroupName, agent.Severity: clip.Bytes(a.Severity, maxName),
			agent.AlertNotes: clip.Bytes(strings.Join(out.Notes, "\n"), maxNotes), agent.TraceParent: r.who.traceParent,
		}},
	}
	chain, _ := r.cfg.Dedup(req)
	kind := r.masked(ctx, a.Type)
	switch shown := clip.Bytes(kind, maxType); {
	case chain == "": // no chain handles its type
		req.AlertType = r.hook.AlertType
		chain, _ = r.cfg.Dedup(req)
	case shown != req.AlertType: // workers would find no chain by it
		req.Chain, req.AlertType = chain, shown
	}
	if chain == "" || !r.cfg.ChainIn(chain, out.Project) {
		const why = "the alert's project has no chain for the alert type %.60q: set the webhook's chain or alert_type to one that it has"
		return huma.Error422UnprocessableEntity(fmt.Sprintf(why, kind))
	}
	maps.DeleteFunc(req.Metadata, func(_, value string) bool { return value == "" })
	if size, err := json.Marshal(req.Metadata); err != nil || len(size) > agent.MaxMetadata {
		delete(req.Metadata, agent.AlertNotes) // the list of alerts has them
	}
	out.Workflow = clip.Bytes(system.IDOf(cmp.Or(kind, chain)), maxWorkflow)
	st := system.Start{Request: req, Data: string(a.Data), Masker: r.masker}
	st.Know(r.cfg)
	st.Request.Attach = st.MaxData > 0 && len(st.Data) > st.MaxData // agents read the rest in pages
	var err error
	out.Request, err = r.opts.System.Prepare(ctx, st)
	return err
}

const maxWorkflow = 60 // bytes of the workflow ID before the alert's own part

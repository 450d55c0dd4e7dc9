package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// webhooks receives the alerts of other systems.
type webhooks struct {
	base
	hooks map[string]configuration.Hook
	sns   *webhook.SNS
	large chan struct{} // bounds the large deliveries from senders without a token
}

func (h *webhooks) routes(to *Server) {
	receive := system.ReceiveAlerts.Operation
	addWith(to, operation{Operation: receive, signed: h.signed}, h.receive)
	to.huma.OpenAPI().Paths[receive.Path].Post.RequestBody.Content["application/json"].Schema = &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "the sender's payload: see docs/reference/webhooks.md",
	}
	register(to, system.ListAlerts, h.listAlerts)
}

// signed returns the grants of a webhook with signed deliveries. receive verifies the signature, because it has the body.
func (h *webhooks) signed(name string) (identity, bool) {
	hook, ok := h.hooks[name]
	if !ok || !hook.Signature.Signs() {
		return identity{}, false
	}
	who := identity{grants: map[string]int{}}
	who.grant(config.Grant{Role: config.RoleOperator, Projects: hook.Projects})
	return who, true
}

// maxLarge limits how many deliveries larger than maxBody are read at once from senders without a token. The signature can only be
// checked once all of it has been read.
const maxLarge = 8

// few limits the large deliveries from senders without a token that are accepted at the same time.
func (h *webhooks) few(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		o, _ := ctx.Operation().Metadata["operation"].(operation)
		if o.signed == nil || !h.mayBeLarge(ctx) {
			next(ctx)
			return
		}
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
			next(ctx)
		default:
			ctx.SetHeader("Retry-After", "5")
			_ = huma.WriteErr(api, ctx, http.StatusServiceUnavailable, "too many large deliveries at once: retry later")
		}
	}
}

// mayBeLarge reports whether the sender signs and announces more than maxBody, or announces no length.
func (h *webhooks) mayBeLarge(ctx huma.Context) bool {
	if _, signs := h.signed(ctx.Param("name")); !signs {
		return false
	}
	r, _ := humago.Unwrap(ctx)
	return r.ContentLength < 0 || r.ContentLength > maxBody
}

type deliveryIn struct {
	Name    string `path:"name" maxLength:"63" doc:"name of the webhook"`
	RawBody []byte `contentType:"application/json"`
	header  http.Header
	sender  string // source IP address
}

// Resolve keeps the sender and all headers, because the configuration says which header holds the signature.
func (in *deliveryIn) Resolve(ctx huma.Context) []error {
	in.header = http.Header{}
	in.sender, _, _ = net.SplitHostPort(ctx.RemoteAddr())
	ctx.EachHeader(in.header.Add)
	return nil
}

var errUnsigned = huma.Error401Unauthorized("the signature is missing or does not match the webhook's configuration")

// receive responds once the whole delivery is in the store. Senders retry after a 5xx.
func (h *webhooks) receive(ctx context.Context, in *deliveryIn) (*body[system.Delivery], error) {
	hook, ok := h.hooks[in.Name]
	if !ok {
		return nil, errHidden
	}
	envelope, isEnvelope, malformed := webhook.ReadEnvelope(in.RawBody)
	if hook.Signature.Signs() && (!isEnvelope || len(hook.Signature.Topics) == 0) {
		if err := hook.Signature.Check(in.header, in.RawBody, time.Now()); err != nil {
			h.opts.Logger.WarnContext(ctx, "a webhook was refused", "webhook", in.Name, "error", errors.Join(err, malformed))
			return nil, errUnsigned
		}
	}
	if malformed != nil {
		return nil, huma.Error422UnprocessableEntity(malformed.Error())
	}
	if isEnvelope {
		if err := h.envelope(ctx, in, hook, envelope); err != nil || !envelope.Carries() {
			return reply(system.Delivery{}), err
		}
	}
	read := func() ([]webhook.Alert, []error, error) { return hook.Reader.Read(in.RawBody) }
	if isEnvelope && len(hook.Signature.Topics) > 0 {
		read = func() ([]webhook.Alert, []error, error) { return hook.Reader.ReadSigned(envelope) }
	}
	alerts, unusable, err := read()
	if err != nil {
		return nil, huma.Error422UnprocessableEntity(err.Error())
	}
	r := receiving{base: h.base, name: in.Name, hook: hook, who: accessOf(ctx), cfg: h.opts.Config()}
	if r.masker, err = mask.Of(r.cfg.AlertMasking()); err != nil {
		return nil, err
	}
	var all []webhook.Received
	for _, a := range alerts {
		one, err := r.alert(ctx, a)
		switch {
		case err == nil:
			all = append(all, one)
		case errors.As(err, new(*system.InputError)) || errors.As(err, new(huma.StatusError)):
			unusable = append(unusable, fmt.Errorf("%.60q: %w", one.Title, err))
		default:
			return nil, err
		}
	}
	out := system.Delivery{}
	for _, err := range unusable {
		h.opts.Logger.WarnContext(ctx, "an alert cannot be used", "webhook", in.Name, "error", err)
		if out.Unusable = append(out.Unusable, clip.Text(err.Error(), maxWhy)); len(out.Unusable) == maxUnusable {
			break
		}
	}
	if len(all) == 0 && len(unusable) > 0 {
		errs := []error{}
		for _, why := range out.Unusable {
			errs = append(errs, errors.New(why))
		}
		return nil, huma.Error422UnprocessableEntity("none of the alerts can be used", errs...)
	}
	if len(all) > 0 {
		out.Counts, err = h.opts.System.Receive(ctx, all)
	}
	return reply(out), err
}

// envelope checks an Amazon SNS envelope and confirms a subscription. If the configuration names no topics, a token was required and
// has been checked.
func (h *webhooks) envelope(ctx context.Context, in *deliveryIn, hook configuration.Hook, e webhook.Envelope) error {
	log := h.opts.Logger.With("webhook", in.Name, "topic", clip.Text(e.TopicArn, maxName))
	if len(hook.Signature.Topics) > 0 || e.Confirms() {
		err := h.sns.Check(ctx, e, in.sender, hook.Signature.Topics, hook.Signature.SNSTolerance)
		if err == nil && e.Confirms() {
			err = h.sns.Confirm(ctx, e)
		}
		switch {
		case errors.Is(err, webhook.ErrSNS):
			log.WarnContext(ctx, "could not verify a message with Amazon SNS; SNS will send it again", "error", err)
			return huma.Error503ServiceUnavailable(err.Error())
		case err != nil:
			log.WarnContext(ctx, "refused a message of Amazon SNS", "error", err)
			return huma.Error401Unauthorized(err.Error())
		}
	}
	switch {
	case e.Confirms():
		log.InfoContext(ctx, "confirmed a subscription of Amazon SNS")
	case !e.Carries():
		log.WarnContext(ctx, "a subscription of Amazon SNS has ended: no more alerts come from this topic")
	}
	return nil
}

const (
	maxUnusable = 100  // alerts named in a response
	maxWhy      = 1000 // bytes of one problem's description
	maxName     = 200  // bytes of a title, a fingerprint or a group name
)

// receiving reads one delivery.
type receiving struct {
	base
	name   string
	hook   configuration.Hook
	who    access
	cfg    *configuration.Config
	masker *mask.Masker // nil means no masking
}

// alert converts an alert for the store.
func (r *receiving) alert(ctx context.Context, a webhook.Alert) (out webhook.Received, err error) {
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
	}{{&out.Title, a.Title}, {&out.GroupName, a.GroupName}, {&out.Fingerprint, a.Fingerprint}} {
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
	if a.State != webhook.Firing {
		return out, nil
	}
	return out, r.request(ctx, a, &out)
}

// request builds the request for an investigation of this alert alone.
func (r *receiving) request(ctx context.Context, a webhook.Alert, out *webhook.Received) error {
	req := agent.Request{
		Chain: r.hook.Chain, AlertType: a.Type, By: webhook.By(r.name, r.who.name),
		Again: true, // the store detects duplicates
		Labels: agent.Labels{Project: out.Project, Priority: a.Priority, Metadata: map[string]string{
			"webhook": r.name, "fingerprint": out.Fingerprint, "group": out.GroupName, "severity": clip.Bytes(a.Severity, maxName),
			agent.TraceParent: r.who.traceParent,
		}},
	}
	if a.Chain != "" {
		req.Chain = a.Chain
	}
	chain, _ := r.cfg.Dedup(req)
	if chain == "" { // no chain handles its type
		req.AlertType = r.hook.AlertType
		chain, _ = r.cfg.Dedup(req)
	}
	if chain == "" || !r.cfg.ChainIn(chain, out.Project) {
		const why = "no chain handles the alert type %.60q: set chain or alert_type of the webhook"
		return huma.Error422UnprocessableEntity(fmt.Sprintf(why, a.Type))
	}
	maps.DeleteFunc(req.Metadata, func(_, value string) bool { return value == "" })
	out.Workflow = clip.Bytes(system.IDOf(cmp.Or(a.Type, chain)), maxWorkflow)
	st := system.Start{Request: req, Data: string(a.Data), Masker: r.masker}
	st.Know(r.cfg)
	st.Request.Attach = st.MaxData > 0 && len(st.Data) > st.MaxData // agents read the rest in pages
	var err error
	out.Request, err = r.opts.System.Prepare(ctx, st)
	return err
}

const maxWorkflow = 60 // bytes of the workflow ID before the alert's own part

func (h *webhooks) listAlerts(ctx context.Context, in *system.AlertsIn) (*body[system.Page[webhook.Row]], error) {
	f := store.AlertFilter{Webhook: in.Webhook, Place: in.Place, Investigation: in.Investigation, Limit: in.Limit + 1}
	var err error
	if f.Projects, err = accessOf(ctx).within(in.Project); err != nil {
		return nil, err
	}
	if in.Cursor != "" {
		if f.Before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || f.Before < 1 {
			return nil, errCursor
		}
	}
	st, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.Alerts(ctx, f)
	out := system.Page[webhook.Row]{Items: append([]webhook.Row{}, all...)}
	if len(all) > in.Limit {
		out.Items = slices.Clip(out.Items[:in.Limit])
		out.Next = strconv.FormatInt(out.Items[in.Limit-1].N, 10)
	}
	return reply(out), err
}

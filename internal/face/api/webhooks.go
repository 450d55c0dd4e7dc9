package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/internal/webhook/delivery"
)

// webhooks receives the alerts of other systems.
type webhooks struct {
	base
	hooks map[string]configuration.Hook
	sns   *webhook.SNS
	large chan struct{} // bounds the large deliveries from senders without a token
	// timeout is how long a delivery may take.
	timeout time.Duration
}

const (
	// deliveryTimeout is shorter than the senders' own: 10 s for GitHub and for Alertmanager with a short group_interval, 15 s for
	// Amazon SNS, 30 s for Grafana and Zabbix.
	deliveryTimeout = 8 * time.Second
	sendAgainAfter  = "5" // seconds, in Retry-After
)

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
			ctx.SetHeader("Retry-After", sendAgainAfter)
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

// receive responds once the whole delivery is in the store. If that is not possible now, it responds with 503 before the sender's own
// timeout, so that the sender repeats the delivery. Alerts that are stored already are recognized.
func (h *webhooks) receive(ctx context.Context, in *deliveryIn) (*body[system.Delivery], error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	out, err := h.deliver(ctx, in)
	err = h.explain(ctx, system.ReceiveAlerts.Name, err)
	status, ok := errors.AsType[huma.StatusError](err)
	if !ok || status.GetStatus() < http.StatusServiceUnavailable {
		return reply(out), err
	}
	if status.GetStatus() == http.StatusGatewayTimeout {
		err = huma.Error503ServiceUnavailable("not all alerts could be stored in time: send the delivery again")
	}
	return nil, huma.ErrorWithHeaders(err, http.Header{"Retry-After": {sendAgainAfter}})
}

func (h *webhooks) deliver(ctx context.Context, in *deliveryIn) (out system.Delivery, err error) {
	hook, ok := h.hooks[in.Name]
	if !ok {
		return out, errHidden
	}
	signs, limit := hook.Signature.Signs(), system.MaxData
	refuse := func(reasons ...error) error {
		h.opts.Logger.WarnContext(ctx, "a webhook was refused", "webhook", in.Name, "error", errors.Join(reasons...))
		return errUnsigned
	}
	unsigned := hook.Signature.Check(in.header, in.RawBody, time.Now())
	if signs && unsigned != nil {
		if len(hook.Signature.Topics) == 0 {
			return out, refuse(unsigned)
		}
		limit = maxBody // Amazon's signature is in the text
	}
	text, note, err := delivery.Text(in.header, in.RawBody, limit)
	switch {
	case errors.Is(err, delivery.ErrTooLarge):
		return out, huma.NewError(http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, delivery.ErrUnsupported):
		return out, huma.Error415UnsupportedMediaType(err.Error())
	case err != nil:
		return out, huma.Error422UnprocessableEntity(err.Error())
	}
	envelope, isEnvelope, malformed := webhook.ReadEnvelope(text)
	if signs && unsigned != nil && !isEnvelope {
		return out, refuse(unsigned, malformed)
	}
	if malformed != nil {
		return out, huma.Error422UnprocessableEntity(malformed.Error())
	}
	if isEnvelope {
		if err := h.envelope(ctx, in, hook, envelope); err != nil || !envelope.Carries() {
			return out, err
		}
	}
	r := receiving{base: h.base, name: in.Name, hook: hook, who: accessOf(ctx), cfg: h.opts.Config(), note: note}
	if r.masker, err = mask.Of(r.cfg.AlertMasking()); err != nil {
		return out, err
	}
	masked := func(text string) string { return r.masked(ctx, text) }
	if isEnvelope && len(hook.Signature.Topics) > 0 {
		r.alerts, r.unusable, err = hook.Reader.ReadSigned(envelope, masked)
	} else {
		r.alerts, r.unusable, err = hook.Reader.Read(text, masked)
	}
	if err != nil {
		return out, huma.Error422UnprocessableEntity(err.Error())
	}
	if err := r.store(ctx); err != nil {
		return out, err
	}
	return r.response(ctx)
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
			log.WarnContext(ctx, "could not verify an Amazon SNS message; SNS will send it again", "error", err)
			return huma.Error503ServiceUnavailable(err.Error())
		case err != nil:
			log.WarnContext(ctx, "refused an Amazon SNS message", "error", err)
			return huma.Error401Unauthorized(err.Error())
		}
	}
	switch {
	case e.Confirms():
		log.InfoContext(ctx, "confirmed an Amazon SNS subscription")
	case !e.Carries():
		log.WarnContext(ctx, "an Amazon SNS subscription has ended: no more alerts will come from its topic")
	}
	return nil
}

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

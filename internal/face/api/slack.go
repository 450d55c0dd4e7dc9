package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/slack"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Slack returns the face for Slack. It uses the operations of this API, with the access of whoever writes in Slack. In the mode http, the
// API takes Slack's requests from then on, so call it before Serve. address is that of Slack's API; empty means the real one.
func (s *Server) Slack(ctx context.Context, address string) (*slack.Face, error) {
	cfg := s.opts.Config()
	secrets, err := cfg.SlackSecrets()
	if err != nil {
		return nil, err
	}
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.System.Slack.Mode == config.SlackHTTP && s.opts.WithoutHTTP {
		return nil, errors.New("system.slack.mode is http: start the worker with --http")
	}
	face := slack.New(slack.Options{
		Settings: cfg.System.Slack, Secrets: secrets, PageURL: cfg.System.DashboardURL, APIURL: address,
		Operations: s, System: s.opts.System, Store: st, Logger: s.opts.Logger,
		As: func(ctx context.Context, name string, user config.SlackUser) context.Context {
			return asSlackUser(ctx, name, user, cfg.System.HTTP.OIDC.Groups)
		},
		Explain: func(ctx context.Context, operation string, err error) (string, int) {
			err = s.explain(ctx, operation, err)
			if status, ok := errors.AsType[huma.StatusError](err); ok {
				return err.Error(), status.GetStatus()
			}
			return err.Error(), 0
		},
		Refused: func(ctx context.Context, investigation, who, operation, why string) error {
			return st.Audit(ctx, audit.Act{
				Investigation: investigation, What: audit.Refused, Who: who, Channel: agent.ChannelSlack, Key: "refused " + system.KeyOf(ctx),
				Detail: audit.Detail("operation", operation, "why", why),
			})
		},
		Mask: func(ctx context.Context, text string) (string, error) {
			masker, err := mask.Of(s.opts.Config().AlertMasking())
			if err != nil || masker == nil {
				return text, err
			}
			return masker.Text(ctx, text)
		},
	})
	if cfg.System.Slack.Mode == config.SlackHTTP {
		s.mux.Handle("POST "+slack.Path, face)
	}
	return face, nil
}

// asSlackUser returns a context for operations in the name of a user of Slack, who also has the grants of their groups.
func asSlackUser(ctx context.Context, name string, user config.SlackUser, groups map[string]config.Grant) context.Context {
	who := identity{name: name, groups: user.Groups, channel: agent.ChannelSlack, grants: map[string]int{}}
	who.grant(user.Grant)
	for _, group := range user.Groups {
		if grant, ok := groups[group]; ok {
			who.grant(grant)
		}
	}
	return context.WithValue(ctx, accessKey{}, access{identity: who})
}

// runSlack runs the face for Slack until ctx ends.
func (s *Server) runSlack(ctx context.Context, address string) error {
	face, err := s.Slack(ctx, address)
	if err != nil {
		return fmt.Errorf("--slack: %w", err)
	}
	go face.Run(ctx)
	return nil
}

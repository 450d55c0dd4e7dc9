package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/store"
)

const (
	// maxEasy is how much data goes into Temporal if there is a store to put it into, in bytes.
	maxEasy = 256 << 10
	// maxRequest is how large a request may be: Temporal refuses 2 MB.
	maxRequest = 2<<20 - 16<<10
)

// request makes the request that the flags describe. Data that is large goes
// into the store, if there is one here, and the request names it.
func (c *cli) request(ctx context.Context, f runFlags) (agent.Request, error) {
	req := agent.Request{Chain: f.chain, AlertType: f.alertType, Provider: f.provider, UseMock: f.mock, AllowEmpty: f.allowEmpty, Attach: f.attach, By: f.by}
	if req.Chain == "" && req.AlertType == "" {
		return req, usagef("--chain or --alert-type is needed")
	}
	var err error
	if req.Runbook, err = c.text("--runbook", f.runbook); err != nil {
		return req, err
	}
	data, err := c.text("--data", f.data)
	if err != nil {
		return req, err
	}
	cfg, err := c.loadConfig(c.getenv("INQUEST_CONFIG"))
	if err != nil {
		return req, err
	}
	if err := req.CheckData(data, cfg.MaxData()); err != nil {
		return req, usagef("%s", describeFields(err))
	}
	if data, err = masked(ctx, cfg, data); err != nil {
		return req, err
	}
	if len(data) > maxEasy {
		if req.DataRef, err = c.putData(ctx, data); err != nil {
			return req, err
		}
	}
	if req.DataRef == "" && data != "" {
		// A JSON string, whatever it is: so that agents see it byte for byte.
		if req.Data, err = json.Marshal(data); err != nil {
			return req, fmt.Errorf("write the request: %w", err)
		}
	}
	if err := req.Validate(); err != nil {
		return req, usagef("%s", describeFields(err))
	}
	return req, checkSize(req)
}

// masked is a request's data as it may leave this process: masked as the
// configuration says (INQUEST_CONFIG, else what is built in). The workers mask it again.
func masked(ctx context.Context, cfg *config.Config, data string) (string, error) {
	masking := cfg.AlertMasking()
	if masking == nil {
		return data, nil
	}
	masker, err := mask.New(*masking)
	if err == nil {
		data, err = masker.Text(ctx, data)
	}
	if err != nil {
		return "", fmt.Errorf("mask the data: %w", err)
	}
	return data, nil
}

// describeFields says which flags the errors of a request are about.
func describeFields(err error) string {
	return strings.NewReplacer(`"chain"`, "--chain", `"alert_type"`, "--alert-type", `"provider"`, "--provider", `"data"`, "--data",
		`"allow_empty": true`, "--allow-empty", `"attach": true`, "--attach").Replace(err.Error())
}

func checkSize(req agent.Request) error {
	body, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	if len(body) > maxRequest {
		return usagef("the request is %d bytes and Temporal takes %d: where the workers' store is at hand (--store), data of any size is passed by reference",
			len(body), maxRequest)
	}
	return nil
}

// putData puts data into the store; without one the name is empty.
func (c *cli) putData(ctx context.Context, data string) (ref string, err error) {
	err = c.withStore(ctx, func(st *store.Store) error {
		if st == nil {
			return nil
		}
		ref, err = st.PutBlob(ctx, []byte(data))
		return err
	})
	return ref, err
}

// text is what an argument stands for: itself, a file's content (@path), or what
// comes on standard input (-).
func (c *cli) text(what, arg string) (string, error) {
	var raw []byte
	var err error
	switch {
	case arg == "-":
		raw, err = io.ReadAll(c.in)
	case strings.HasPrefix(arg, "@"):
		raw, err = os.ReadFile(arg[1:])
	default:
		raw = []byte(arg)
	}
	if err != nil {
		return "", usagef("%s: %w", what, err)
	}
	if !utf8.Valid(raw) {
		return "", usagef("%s is not valid UTF-8 text", what)
	}
	return string(raw), nil
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

const (
	// maxLate is how many late answers to abandoned calls a pool waits for at a time.
	maxLate = 100
	// lateGrace is how much longer an unneeded session waits for them.
	lateGrace = time.Minute
)

// abandon gives up a call: an unsent request is withdrawn, and a sent one is cancelled at the server. The answer may
// still arrive, because servers may ignore cancellations, or were frozen in the meantime.
func (s *session) abandon(ctx context.Context, call tool.Call, receipt *receipt, answered <-chan outcome, late chan struct{}) {
	if !receipt.withdraw() {
		receipt.giveUp(context.Canceled)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		s.wire.cancel(ctx, receipt.request())
	}()
	if call.Late == nil {
		receipt.giveUp(context.Canceled)
		return
	}
	select {
	case late <- struct{}{}:
	default:
		s.logger.Warn("A late result of this tool call will not be recorded: too many calls are waiting for late results",
			"tool", call.Name, "waiting", maxLate)
		receipt.giveUp(context.Canceled)
		return
	}
	go func() {
		defer func() { <-late }()
		defer receipt.giveUp(nil)
		if got, ok := s.await(answered); ok {
			call.Late(got)
		}
	}()
}

// await waits for a late answer.
func (s *session) await(answered <-chan outcome) (tool.Result, bool) {
	limit := time.NewTimer(s.lateLimit)
	defer limit.Stop()
	left := s.left
	var grace <-chan time.Time
	for {
		select {
		case got := <-answered:
			return s.lateResult(got)
		case <-left:
			left = nil // the session waits for its calls, and for long if another one replaces it
			if s.final {
				grace = time.After(lateGrace)
			}
		case <-grace:
			return tool.Result{}, false
		case <-limit.C:
			return tool.Result{}, false
		}
	}
}

// lateResult returns the server's answer to the call. ok is false if the session ended instead. An error after a
// cancellation does not show whether the call had an effect.
func (s *session) lateResult(got outcome) (result tool.Result, ok bool) {
	if got.err == nil {
		return got.result, true
	}
	said, answered := errors.AsType[*jsonrpc.Error](got.err)
	if !answered || closed(s.wire.ended()) && !s.silent() {
		return tool.Result{}, false
	}
	text := fmt.Sprintf("error %d: %s", said.Code, s.secrets.redact(said.Message))
	result = tool.Failure(tool.ErrorTool, tool.ValidText(clip.Bytes(text, maxErrorText)))
	result.Sent = true
	return result, true
}

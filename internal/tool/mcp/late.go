package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

const (
	// maxLate is how many answers to calls that were given up a pool waits for at a time.
	maxLate = 100
	// lateGrace is how much longer a session that nobody needs any more waits for them.
	lateGrace = time.Minute
)

// abandon gives a call up: it does not go out any more if it has not, and else it is cancelled at the server. The answer
// may come all the same, because servers need not listen, or because the server stood still meanwhile.
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
			left = nil // the session waits for its calls: for long if another one takes its place
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

// lateResult is what the server said about the call; ok is false if the session ended instead. An error that follows a
// cancellation does not say whether the call had an effect.
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

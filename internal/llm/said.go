package llm

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/written"
)

// said is the text of a reply as it streams, without the thinking and calls that are written into it.
type said struct {
	offer   written.Offer
	live    *written.Live
	onDelta func(Delta)
}

// newSaid returns the text of the reply to a request. calls means that the server may leave calls in it.
func newSaid(req Request, calls bool, onDelta func(Delta)) said {
	offer := written.Offer{JSON: req.JSON || len(req.Schema) > 0}
	if calls {
		for _, t := range req.Tools {
			offer.Tools = append(offer.Tools, written.Tool{Name: t.Name, Schema: t.Schema})
		}
	}
	for _, m := range req.Messages {
		if m.Role == agent.User || m.Role == agent.ToolRole {
			offer.Sources = append(offer.Sources, m.Content)
		}
	}
	return said{offer: offer, live: offer.Live(), onDelta: onDelta}
}

// delta passes on the text that may be shown. Every chunk is reported, even if nothing of it is shown.
func (s said) delta(d Delta) {
	if s.onDelta == nil {
		return
	}
	text, thinking := s.live.Add(d.Content)
	s.onDelta(Delta{Content: text, Thinking: d.Thinking + thinking})
}

// whole returns a reply with the thinking and calls separated from its text.
func (s said) whole(resp Response) Response {
	native := strings.TrimSpace(resp.Thinking)
	offer := s.offer
	calls := resp.Finish != FinishRepeating && resp.Finish != FinishLength && resp.Finish != FinishFiltered
	if !calls { // the last one may be cut
		offer.Tools = nil
	}
	read := offer.Read(resp.Content)
	switch {
	case len(resp.ToolCalls) > 0 && !written.Same(read.Calls, resp.ToolCalls): // the text is about calls
		offer.Tools = nil
		read = offer.Read(resp.Content)
	case len(resp.ToolCalls) > 0: // the server has parsed them, and left them in the text
	case len(read.Calls) > 0:
		resp.ToolCalls, resp.Finish, resp.ProviderState = read.Calls, FinishToolCalls, nil // the state is that of a reply without calls
	case strings.TrimSpace(read.Text) == "" && calls && !resp.SignedThinking:
		at := &resp.Thinking
		if native == "" {
			at = &read.Thinking
		}
		thoughts := offer.InThoughts(*at)
		if read.Quoted = append(read.Quoted, thoughts.Quoted...); len(thoughts.Calls) > 0 {
			*at, resp.ToolCalls, resp.Finish, resp.ProviderState = thoughts.Thinking, thoughts.Calls, FinishToolCalls, nil
		}
	}
	if len(resp.ToolCalls) == 0 {
		resp.Quoted = read.Quoted
	}
	if resp.Finish == FinishToolCalls && len(resp.ToolCalls) == 0 { // they are missing
		resp.Finish = FinishStop
	}
	resp.Content = read.Text
	if native != "" && read.Thinking != "" {
		resp.Thinking += "\n\n"
	}
	resp.Thinking += read.Thinking
	s.rest(read)
	return resp
}

// rest shows the text that was held back.
func (s said) rest(read written.Reply) {
	if s.onDelta == nil {
		return
	}
	if text, thinking := s.live.Rest(read.Text, read.Thinking); text != "" || thinking != "" {
		s.onDelta(Delta{Content: text, Thinking: thinking})
	}
}

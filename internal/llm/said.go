package llm

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/written"
)

// said is the text of a reply as it streams, without the thoughts and calls that are written into it.
type said struct {
	offer   written.Offer
	live    *written.Live
	onDelta func(Delta)
}

func newSaid(req Request, onDelta func(Delta)) said {
	offer := written.Offer{JSON: req.JSON || len(req.Schema) > 0}
	for _, t := range req.Tools {
		offer.Tools = append(offer.Tools, written.Tool{Name: t.Name, Schema: t.Schema})
	}
	return said{offer: offer, live: offer.Live(), onDelta: onDelta}
}

// delta passes on what may be shown. Every chunk is told, also one of which nothing is shown.
func (s said) delta(d Delta) {
	if s.onDelta == nil {
		return
	}
	text, thinking := s.live.Add(d.Content)
	s.onDelta(Delta{Content: text, Thinking: d.Thinking + thinking})
}

// whole is a reply with the thoughts and calls that were written into its text.
func (s said) whole(resp Response) Response {
	native := strings.TrimSpace(resp.Thinking)
	offer := s.offer
	calls := resp.Finish != FinishRepeating && resp.Finish != FinishLength && resp.Finish != FinishFiltered
	if !calls { // the last one may be cut
		offer.Tools = nil
	}
	read := offer.Read(resp.Content)
	switch {
	case len(resp.ToolCalls) > 0 && !written.Same(read.Calls, resp.ToolCalls): // they are about calls
		offer.Tools = nil
		read = offer.Read(resp.Content)
	case len(resp.ToolCalls) > 0: // the server has read them, and left them in the text
	case len(read.Calls) > 0:
		resp.ToolCalls, resp.Finish, resp.ProviderState = read.Calls, FinishToolCalls, nil // which tells of a reply without calls
	case strings.TrimSpace(read.Text) == "" && calls:
		at := &resp.Thinking
		if native == "" {
			at = &read.Thinking
		}
		if before, calls := offer.InThoughts(*at); len(calls) > 0 {
			*at, resp.ToolCalls, resp.Finish, resp.ProviderState = before, calls, FinishToolCalls, nil
		}
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

// rest shows what was held back and is text.
func (s said) rest(read written.Reply) {
	if s.onDelta == nil {
		return
	}
	if text, thinking := s.live.Rest(read.Text, read.Thinking); text != "" || thinking != "" {
		s.onDelta(Delta{Content: text, Thinking: thinking})
	}
}

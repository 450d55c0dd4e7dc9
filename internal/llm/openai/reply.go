package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
)

// reply assembles a model's reply.
type reply struct {
	asked   string // the model's name in the request
	onDelta func(llm.Delta)

	chunks    int
	pieces    bool // it arrives in deltas
	content   llm.Text
	speaker   llm.Index // the choice that provides the reply's text
	thinking  llm.Text
	repeating bool
	reasoning strings.Builder // the part of the thinking that must be returned
	reasoned  bool            // the server has sent its field, possibly empty
	details   joiner
	calls     calls
	old       calls // from function_call
	finish    string
	model     string
	usage     usage
	// note is the server's text outside chunks. It explains why a stream ended too early.
	note string
}

// newReply returns the reply to a request.
func newReply(req llm.Request, onDelta func(llm.Delta)) *reply {
	r := &reply{asked: req.Model, onDelta: onDelta}
	for _, t := range req.Tools {
		r.calls.offered = append(r.calls.offered, t.Name)
	}
	r.old.offered = r.calls.offered
	return r
}

// Plain reads an answer in plain JSON: an error, or the reply of a server that does not stream.
func (r *reply) Plain(body []byte) error {
	if !json.Valid(body) {
		return llm.NotJSON(body)
	}
	if _, err := r.Event(llm.Event{Data: body}); err != nil {
		return err
	}
	if r.finish == "" && !bytes.Contains(body, []byte(`"choices"`)) {
		if r.note != "" {
			return parseFailure(body).error(0)
		}
		return &llm.Error{Kind: llm.ErrNotAModel, Message: "the response has no choices"}
	}
	return r.Ended(io.EOF)
}

// Ended judges the end of a stream. Only a finish reason makes a reply complete; anything lost after it is at most the
// usage.
func (r *reply) Ended(err error) error {
	if r.finish != "" || r.calls.over {
		return nil
	}
	said := "the stream ended without a finish reason"
	if r.note != "" {
		said += ": " + r.note
	}
	return llm.CutOff(err, r.chunks > 0, said)
}

// Event processes one chunk.
func (r *reply) Event(e llm.Event) (done bool, err error) {
	if llm.DoneMark(e.Data) {
		return true, r.Ended(io.EOF)
	}
	var c chunk
	err = json.Unmarshal(e.Data, &c)
	if r.finish != "" && !interrupted(r.finish) && (err != nil || e.Name == llm.ErrorEvent || c.failed()) {
		return true, nil // the reply is complete: an error after it is about something else
	}
	if err != nil {
		if e.Name == llm.ErrorEvent {
			return false, parseFailure(e.Data).error(0)
		}
		// Without the chunk, which may hold the model's text.
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	if e.Name == llm.ErrorEvent || c.failed() {
		return false, parseFailure(e.Data).error(0)
	}
	if len(c.Choices) == 0 && r.finish == "" {
		r.note = llm.ErrorWords(e.Data)
	}
	r.chunks++
	if c.Model != "" {
		r.model = string(c.Model)
	}
	var said llm.Delta
	for n, choice := range c.Choices {
		more := r.choice(n, choice)
		said.Content, said.Thinking = said.Content+more.Content, said.Thinking+more.Thinking
	}
	r.count(c.Groq.V.Usage.V)
	r.count(c.Usage.V)
	if r.onDelta != nil {
		r.onDelta(said)
	}
	return r.repeating || r.calls.over, nil
}

// count processes the usage so far.
func (r *reply) count(u usage) {
	if u != (usage{}) {
		r.usage = u
	}
}

// choice processes and returns the text of the n-th choice of a chunk. A request asks for one choice. Gateways split
// one reply between several, such as text and the calls after it, so calls of all choices count. A second text,
// however, is another version of the first and does not count.
func (r *reply) choice(n int, c choice) llm.Delta {
	d, whole := c.said()
	if whole {
		d = r.unsaid(d, c.Finish != "")
	}
	r.pieces = r.pieces || !c.Delta.V.nothing()
	index := c.Index
	if !index.Known {
		index = llm.Index{N: n, Known: true}
	}
	said := llm.Delta{Content: d.said(), Thinking: d.thinking()}
	if said.Content != "" && !r.speaker.Known {
		r.speaker = index
	}
	if r.speaker.Known && r.speaker != index {
		said = llm.Delta{}
	} else {
		r.reasoning.WriteString(d.ReasoningContent.all())
		r.reasoned = r.reasoned || c.Delta.V.ReasoningContent.given || c.Message.V.ReasoningContent.given
		r.details.add(d.Details)
	}
	stuck := r.content.Add(said.Content)
	r.repeating = r.thinking.Add(said.Thinking) || stuck || r.repeating
	for _, part := range d.calls() {
		if index.N != 0 && part.Index.Known { // each choice counts its calls from 0
			part.Index.N += index.N * callsOfChoice
		}
		r.calls.add(part)
	}
	if f := d.FunctionCall.V; f != nil {
		r.old.add(callPart{Index: index, Function: llm.Loose[function]{V: *f}})
	}
	r.calls.over = r.calls.over || r.old.over
	r.repeating = r.repeating || r.calls.over && (r.calls.repeating() || r.old.repeating())
	r.count(c.Usage.V)
	if reason := string(c.Finish); reason != "" { // some servers send an empty one afterwards
		r.finish = reason
	}
	return said
}

// callsOfChoice is more than the calls that one choice can have.
const callsOfChoice = 1 << 20

// response returns the reply, or an error if its content was withheld.
func (r *reply) response() (llm.Response, error) {
	if len(r.calls.list()) == 0 {
		r.calls = r.old
	}
	resp := llm.Response{
		Content:   r.content.String(),
		Thinking:  r.thinking.String(),
		ToolCalls: r.calls.list(),
		Finish:    llm.ReadFinish(r.finish),
		Model:     r.model,
		Usage:     r.usage.usage(),
	}
	switch {
	case interrupted(r.finish):
		return resp, &llm.Error{Kind: llm.ErrTruncated, Message: "the provider interrupted the stream: " + r.finish}
	case r.repeating: // no calls: the last one may be cut
		resp.Finish, resp.ToolCalls = llm.FinishRepeating, nil
	case r.calls.over:
		resp.Finish = llm.FinishToolCalls
	case resp.Finish == llm.FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = llm.FinishToolCalls // Ollama and others use "stop"
	case resp.Finish == llm.FinishFiltered && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &llm.Error{Kind: llm.ErrContentFiltered}
	}
	if !r.repeating {
		resp.SignedThinking = r.details.signed()
		resp.ProviderState = r.chatState()
	}
	return resp, nil
}

// interrupted matches the finish reasons of a provider that has failed: those of DeepSeek, Mistral and OpenRouter.
func interrupted(finish string) bool {
	return slices.Contains([]string{"insufficient_system_resource", "error", "network_error"}, strings.ToLower(finish))
}

package openai

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// response assembles a model's reply from the Responses API.
type response struct {
	asked   string // the model's name in the request
	onDelta func(llm.Delta)

	events    int
	content   llm.Text
	thinking  llm.Text
	repeating bool
	items     []item                       // complete ones, in order
	begun     map[llm.Index]item           // calls that have begun
	args      map[llm.Index]*llm.Arguments // arguments of streaming calls, by position
	over      bool                         // the arguments of a call are too long or repeat themselves
	final     *responseObject
	used      agent.Usage
}

// responseEvent is any event of a stream. Other types are ignored.
// https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-22)
type responseEvent struct {
	Type     string                    `json:"type"`
	Delta    json.RawMessage           `json:"delta"`
	Item     item                      `json:"item"`          // response.output_item.added, .done
	Index    llm.Index                 `json:"output_index"`  // the same
	Part     llm.Count                 `json:"summary_index"` // response.reasoning_summary_part.added
	Response llm.Loose[responseObject] `json:"response"`      // response.completed, .incomplete, .failed
	Text     llm.Word                  `json:"text"`          // response.output_text.done
	Args     llm.Piece                 `json:"arguments"`     // response.function_call_arguments.done
}

// responseObject is a finished response, or a whole answer in plain JSON.
type responseObject struct {
	Status     llm.Word        `json:"status"`
	Model      llm.Word        `json:"model"`
	Output     []item          `json:"output"`
	Error      json.RawMessage `json:"error"`
	Incomplete llm.Loose[struct {
		Reason llm.Word `json:"reason"`
	}] `json:"incomplete_details"`
	Usage llm.Loose[responseUsage] `json:"usage"`
}

type responseUsage struct {
	Input  llm.Count `json:"input_tokens"`
	Output llm.Count `json:"output_tokens"`
	In     llm.Loose[struct {
		Cached     llm.Count `json:"cached_tokens"`
		CacheWrite llm.Count `json:"cache_write_tokens"`
	}] `json:"input_tokens_details"`
	Out llm.Loose[struct {
		Reasoning llm.Count `json:"reasoning_tokens"`
	}] `json:"output_tokens_details"`
}

// usage converts the call's usage.
func (u responseUsage) usage() agent.Usage {
	return agent.Usage{
		InputTokens: int(u.Input), OutputTokens: int(u.Output), CacheReadTokens: int(u.In.V.Cached),
		CacheWriteTokens: int(u.In.V.CacheWrite), ReasoningTokens: int(u.Out.V.Reasoning),
	}
}

// item is a part of the output: thinking, a message, a call.
type item struct {
	Type      llm.Word             `json:"type"`
	Phase     llm.Word             `json:"phase"` // of a message: commentary or final_answer
	Encrypted llm.Word             `json:"encrypted_content"`
	ID        llm.Word             `json:"id"`
	CallID    llm.Word             `json:"call_id"`
	Name      llm.Word             `json:"name"`
	Arguments llm.Piece            `json:"arguments"`
	Input     llm.Piece            `json:"input"` // of a custom_tool_call
	Content   content              `json:"content"`
	Summary   llm.Loose[[]content] `json:"summary"`
	whole     json.RawMessage
	index     llm.Index // in the output
}

// text returns the text of a message. A refusal replaces the text.
func (i item) text() string { return i.Content.text }

// thought returns the visible part of thinking: its summary, or for open models all of it.
func (i item) thought() string {
	var parts []string
	for _, part := range i.Summary.V {
		parts = append(parts, part.all())
	}
	return cmp.Or(strings.Join(parts, "\n\n"), i.Content.all())
}

// call returns the item's call.
func (i item) call() agent.ToolCall {
	return agent.ToolCall{ID: string(cmp.Or(i.CallID, i.ID)), Name: string(i.Name), Arguments: string(cmp.Or(i.Arguments, i.Input))}
}

func (i item) isCall() bool { return i.Type == "function_call" || i.Type == "custom_tool_call" }

// same reports whether two items are the same, sent twice: by position or by id.
func (i item) same(other item) bool {
	switch {
	case i.Type != other.Type, differ(string(i.CallID), string(other.CallID)):
		return false
	case i.CallID != "" && i.CallID == other.CallID:
		return true
	case i.index.Known && other.index.Known:
		return i.index == other.index && (!differ(string(i.ID), string(other.ID)) || i.alike(other))
	case i.ID != "" && i.ID == other.ID:
		return true
	}
	return i.alike(other)
}

// alike reports whether two items of a type have the same content.
func (i item) alike(other item) bool {
	return i.text() == other.text() && i.thought() == other.thought() && i.Encrypted == other.Encrypted && i.Name == other.Name &&
		sameJSON(i.call().Arguments, other.call().Arguments)
}

// UnmarshalJSON also keeps the original item, because no byte of thinking may change.
func (i *item) UnmarshalJSON(data []byte) error {
	type plain item
	_ = json.Unmarshal(data, (*plain)(i)) // every field decodes what it can
	i.whole = append(json.RawMessage(nil), data...)
	return nil
}

// Plain reads an answer in plain JSON: an error, or the response of a server that does not stream.
func (r *response) Plain(body []byte) error {
	var whole llm.Loose[responseObject]
	if !json.Valid(body) {
		return llm.NotJSON(body)
	}
	_ = json.Unmarshal(body, &whole)
	switch {
	case whole.V.Status != "", len(whole.V.Output) > 0 && llm.EmptyJSON(whole.V.Error):
		return r.end(whole.V)
	case llm.ErrorWords(body) == "":
		return &llm.Error{Kind: llm.ErrNotAModel, Message: "the response has no status"}
	}
	return parseFailure(body).error(0)
}

// Ended judges the end of a stream that came before the final response.
func (r *response) Ended(why error) error {
	if r.over {
		return nil
	}
	return llm.CutOff(why, r.events > 0, "the stream ended before the response was complete")
}

// Event processes one event.
func (r *response) Event(event llm.Event) (done bool, err error) {
	if llm.DoneMark(event.Data) {
		return true, r.Ended(io.EOF)
	}
	r.events++
	var e responseEvent
	if err := json.Unmarshal(event.Data, &e); err != nil && event.Name != llm.ErrorEvent {
		// Without the event, which may hold the model's text.
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	if event.Name == llm.ErrorEvent {
		e.Type = llm.ErrorEvent
	}
	var text string
	if json.Unmarshal(e.Delta, &text) != nil && saying[e.Type] {
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: "the delta of an event is not a string"}
	}
	switch e.Type {
	case llm.ErrorEvent, "": // the latter in the form of chat completions
		return false, parseFailure(event.Data).error(0)
	case "response.output_text.delta", "response.refusal.delta":
		r.say(llm.Delta{Content: text})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.say(llm.Delta{Thinking: text})
	case "response.reasoning_summary_part.added":
		if e.Part > 0 && r.thinking.String() != "" {
			r.say(llm.Delta{Thinking: "\n\n"})
		}
	case "response.output_item.added":
		if r.begun == nil {
			r.begun = map[llm.Index]item{}
		}
		r.begun[e.Index] = e.Item
		r.say(llm.Delta{Content: r.between(e.Item)})
	case "response.function_call_arguments.delta":
		r.grow(e.Index, text)
	case "response.function_call_arguments.done":
		if r.args[e.Index] == nil && e.Args != "" {
			r.grow(e.Index, string(e.Args))
		}
	case "response.output_text.done":
		if r.content.String() == "" { // otherwise the deltas contained it
			r.say(llm.Delta{Content: string(e.Text)})
		}
	case "response.output_item.done":
		e.Item.index = e.Index
		r.keep(e.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		if e.Response.V.Status == "" && e.Type != "response.failed" {
			e.Response.V.Status = "completed"
		}
		return true, r.end(e.Response.V)
	default:
		r.say(llm.Delta{}) // a sign of life
	}
	return r.repeating || r.over, nil
}

// keep adds an item at its position, unless it is known.
func (r *response) keep(i item) {
	if args := r.args[i.index]; args != nil && i.Arguments == "" {
		i.Arguments = llm.Piece(args.String())
	}
	if slices.ContainsFunc(r.items, i.same) {
		return
	}
	at := slices.IndexFunc(r.items, func(other item) bool { return other.index.Known && i.index.Known && other.index.N > i.index.N })
	if at < 0 {
		at = len(r.items)
	}
	r.items = slices.Insert(r.items, at, i)
}

// complete adds the items that were not sent complete: those of the last event, and calls of which only the start and
// the arguments arrived.
func (r *response) complete(whole responseObject) {
	streamed := slices.Clone(r.items)
	for n, i := range whole.Output {
		if !slices.ContainsFunc(streamed, i.same) {
			i.index = llm.Index{N: n, Known: true}
			r.keep(i)
		}
	}
	for at, i := range r.begun {
		if i.index = at; i.isCall() && at.Known {
			r.keep(i)
		}
	}
}

// saying are the events with more of the model's text.
var saying = map[string]bool{
	"response.output_text.delta": true, "response.refusal.delta": true,
	"response.reasoning_summary_text.delta": true, "response.reasoning_text.delta": true,
}

// grow limits the arguments of a call while they stream. The event that ends the call repeats them.
func (r *response) grow(at llm.Index, piece string) {
	if r.args == nil {
		r.args = map[llm.Index]*llm.Arguments{}
	}
	if r.args[at] == nil {
		r.args[at] = &llm.Arguments{}
	}
	if r.args[at].Add(piece) {
		r.over, r.repeating = true, r.args[at].Repeating()
		cut := r.begun[at]
		cut.Type, cut.Arguments = "function_call", llm.Piece(r.args[at].String())
		r.items = append(r.items, cut)
	}
	r.say(llm.Delta{}) // a sign of life
}

// between returns the separator before the next message of a reply.
func (r *response) between(next item) string {
	if next.Type == "message" && r.content.String() != "" {
		return betweenMessages
	}
	return ""
}

const betweenMessages = "\n\n"

func (r *response) say(d llm.Delta) {
	stuck := r.content.Add(d.Content)
	r.repeating = r.thinking.Add(d.Thinking) || stuck || r.repeating
	if r.onDelta != nil {
		r.onDelta(d)
	}
}

func (r *response) end(whole responseObject) error {
	r.used = whole.Usage.V.usage()
	if !llm.EmptyJSON(whole.Error) {
		return parseFailure(slices.Concat([]byte(`{"error":`), whole.Error, []byte(`}`))).error(0)
	}
	r.complete(whole)
	// Texts that did not arrive in pieces are reported as a whole: those of plain JSON, and of proxies that stream no
	// text.
	quiet := r.thinking.String() == ""
	var messages []string
	for _, i := range r.items {
		switch {
		case i.Type == "message":
			messages = append(messages, i.text())
		case i.Type == "reasoning" && quiet:
			r.say(llm.Delta{Thinking: i.thought()})
		}
	}
	if rest, ok := strings.CutPrefix(strings.Join(messages, betweenMessages), r.content.String()); ok {
		r.say(llm.Delta{Content: rest})
	}
	r.final = &whole
	return nil
}

// response returns the reply, or an error if its content was withheld.
func (r *response) response() (llm.Response, error) {
	out := llm.Response{Content: r.content.String(), Thinking: r.thinking.String(), Model: r.asked, Finish: llm.FinishRepeating}
	if r.repeating { // no calls: the last one may be cut
		return out, nil
	}
	out.Usage = r.used
	for _, i := range r.items {
		if i.isCall() {
			out.ToolCalls = append(out.ToolCalls, i.call())
		}
	}
	if r.over {
		out.Finish = llm.FinishToolCalls
		return out, nil
	}
	if r.final.Model != "" {
		out.Model = string(r.final.Model)
	}
	out.SignedThinking = slices.ContainsFunc(r.items, func(i item) bool { return i.Type == "reasoning" && i.Encrypted != "" })
	out.ProviderState = remember(r.asked, r.items)
	switch reason := string(r.final.Incomplete.V.Reason); {
	case llm.ReadFinish(reason) == llm.FinishFiltered:
		out.Finish = llm.FinishFiltered
		if strings.TrimSpace(out.Content) == "" && len(out.ToolCalls) == 0 {
			return out, &llm.Error{Kind: llm.ErrContentFiltered}
		}
	case reason != "":
		out.Finish = llm.ReadFinish(reason)
	case !strings.EqualFold(string(r.final.Status), "completed"):
		return out, &llm.Error{Kind: llm.ErrTruncated, Message: "the response is " + string(r.final.Status) + " " + reason}
	case len(out.ToolCalls) > 0:
		out.Finish = llm.FinishToolCalls
	default:
		out.Finish = llm.FinishStop
	}
	return out, nil
}

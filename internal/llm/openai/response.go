package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// response puts the reply of a model together, by the Responses API.
type response struct {
	asked   string // the model's name in the request
	onDelta func(llm.Delta)

	events    int
	content   llm.Text
	thinking  llm.Text
	repeating bool
	items     []item // that are whole, in the order in which they stand
	final     *responseObject
	used      agent.Usage
}

// responseEvent is any event of a stream; those of other types are passed over.
// https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-22)
type responseEvent struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Item     item            `json:"item"`          // response.output_item.added, .done
	Index    int             `json:"output_index"`  // the same
	Part     int             `json:"summary_index"` // response.reasoning_summary_part.added
	Response responseObject  `json:"response"`      // response.completed, .incomplete, .failed
}

// responseObject is a response as it ends, or the whole of an answer in plain JSON.
type responseObject struct {
	Object     string   `json:"object"`
	Status     string   `json:"status"`
	Model      string   `json:"model"`
	Output     []item   `json:"output"`
	Error      *failure `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage responseUsage `json:"usage"`
}

type responseUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	In     struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// usage is the call's in our meaning.
func (u responseUsage) usage() agent.Usage {
	return agent.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.In.Cached, CacheWriteTokens: u.In.CacheWrite,
		ReasoningTokens: u.Out.Reasoning,
	}
}

// item is a part of the output: a thought, a message, a call.
type item struct {
	Type      string `json:"type"`
	Phase     string `json:"phase"` // of a message: commentary or final_answer
	Encrypted string `json:"encrypted_content"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	whole json.RawMessage
	index int // in the output
}

// text is what a message says; a refusal stands in place of a text.
func (i item) text() (all string) {
	for _, part := range i.Content {
		all += part.Text + part.Refusal
	}
	return all
}

// thought is what people may see of a thought: its summary, or of open models all of it.
func (i item) thought() string {
	var parts []string
	for _, part := range i.Summary {
		parts = append(parts, part.Text)
	}
	return cmp.Or(strings.Join(parts, "\n\n"), i.text())
}

// UnmarshalJSON keeps the item as it came, too: of a thought no byte may change.
func (i *item) UnmarshalJSON(data []byte) error {
	type plain item
	if err := json.Unmarshal(data, (*plain)(i)); err != nil {
		return err
	}
	i.whole = append(json.RawMessage(nil), data...)
	return nil
}

// Plain takes an answer in plain JSON: an error, or the response of a server that does not stream.
func (r *response) Plain(body []byte) error {
	var whole responseObject
	if !json.Valid(body) {
		// Without the answer: it may be what a model wrote, which is not for errors.
		return &llm.Error{Kind: llm.ErrMalformed, Message: fmt.Sprintf("the answer is neither a stream of events nor JSON (%d bytes)", len(body))}
	}
	if json.Unmarshal(body, &whole) != nil || whole.Status == "" {
		return parseFailure(body).error(0)
	}
	return r.end(whole)
}

// Ended judges the end of a stream before the response that ends it.
func (r *response) Ended(why error) error {
	return llm.CutOff(why, r.events > 0, "the stream ended before the response was complete")
}

// Event takes in one event.
func (r *response) Event(data []byte) (done bool, err error) {
	if string(data) == doneMark {
		return true, r.Ended(io.EOF)
	}
	r.events++
	var e responseEvent
	if err := json.Unmarshal(data, &e); err != nil {
		// Without the event, for the same reason as in plain.
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	var text string
	_ = json.Unmarshal(e.Delta, &text) // those of other events are objects
	switch e.Type {
	case "error", "": // the latter in the spelling of chat completions
		return false, parseFailure(data).error(0)
	case "response.output_text.delta", "response.refusal.delta":
		r.say(llm.Delta{Content: text})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.say(llm.Delta{Thinking: text})
	case "response.reasoning_summary_part.added":
		if e.Part > 0 {
			r.say(llm.Delta{Thinking: "\n\n"})
		}
	case "response.output_item.added":
		r.say(llm.Delta{Content: r.between(e.Item)})
	case "response.output_item.done":
		e.Item.index = e.Index
		at := slices.IndexFunc(r.items, func(i item) bool { return i.index > e.Index })
		if at < 0 {
			at = len(r.items)
		}
		r.items = slices.Insert(r.items, at, e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		return true, r.end(e.Response)
	default:
		r.say(llm.Delta{}) // it is alive
	}
	return r.repeating, nil
}

// between stands between two messages of a reply.
func (r *response) between(next item) string {
	if next.Type == "message" && r.content.String() != "" {
		return betweenMessages
	}
	return ""
}

const betweenMessages = "\n\n"

func (r *response) say(d llm.Delta) {
	stuck := r.content.Add(d.Content)
	r.repeating = r.thinking.Add(d.Thinking) || stuck
	if r.onDelta != nil {
		r.onDelta(d)
	}
}

func (r *response) end(whole responseObject) error {
	r.used = whole.Usage.usage()
	if whole.Error != nil {
		return whole.Error.error(0)
	}
	if len(r.items) == 0 {
		r.items = whole.Output
	}
	// What did not come in pieces is told as a whole: that of plain JSON, and of proxies that stream no texts.
	silent, quiet := r.content.String() == "", r.thinking.String() == ""
	for _, i := range r.items {
		switch {
		case i.Type == "message" && silent:
			r.say(llm.Delta{Content: r.between(i) + i.text()})
		case i.Type == "reasoning" && quiet:
			r.say(llm.Delta{Thinking: i.thought()})
		}
	}
	r.final = &whole
	return nil
}

// response returns the reply, or an error if its content was withheld.
func (r *response) response() (llm.Response, error) {
	out := llm.Response{Content: r.content.String(), Thinking: r.thinking.String(), Model: r.asked, Finish: llm.FinishRepeating}
	if r.repeating { // it asks for nothing: its last call may be cut, too
		return out, nil
	}
	out.Usage = r.used
	if r.final.Model != "" {
		out.Model = r.final.Model
	}
	for _, i := range r.items {
		if i.Type == "function_call" {
			out.ToolCalls = append(out.ToolCalls, agent.ToolCall{ID: i.CallID, Name: i.Name, Arguments: i.Arguments})
		}
	}
	out.ProviderState = remember(r.asked, r.items)
	switch reason := r.final.Incomplete.Reason; {
	case reason == "content_filter":
		out.Finish = llm.FinishFiltered
		if strings.TrimSpace(out.Content) == "" && len(out.ToolCalls) == 0 {
			return out, &llm.Error{Kind: llm.ErrContentFiltered}
		}
	case reason == "max_output_tokens":
		out.Finish = llm.FinishLength
	case reason != "":
		out.Finish = llm.Finish(reason)
	case r.final.Status != "completed":
		return out, &llm.Error{Kind: llm.ErrTruncated, Message: "the response is " + r.final.Status + " " + reason}
	case len(out.ToolCalls) > 0:
		out.Finish = llm.FinishToolCalls
	default:
		out.Finish = llm.FinishStop
	}
	return out, nil
}

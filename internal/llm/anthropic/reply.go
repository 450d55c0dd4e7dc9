package anthropic

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

// reply puts a model's reply together.
type reply struct {
	asked   string // the model's name in the request
	fills   bool   // its text is the input of the form
	onDelta func(llm.Delta)

	events    int
	blocks    []*block
	content   llm.Text
	thinking  llm.Text
	repeating bool
	stop      string // in Anthropic's words
	why       string // of a refusal
	model     string
	usage     usage
}

// event is any event of a stream. Events and fields of other kinds are passed over, as
// Anthropic asks for: it adds new ones.
// https://platform.claude.com/docs/en/build-with-claude/streaming
type event struct {
	Type    string  `json:"type"`
	Message message `json:"message"` // message_start
	Index   int     `json:"index"`
	Block   *block  `json:"content_block"` // content_block_start
	Delta   struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
		ending           // message_delta
	} `json:"delta"`
	Usage usage `json:"usage"` // message_delta: of the whole reply so far
}

// message is the beginning of a stream, or the whole of an answer in plain JSON.
type message struct {
	Model   string   `json:"model"`
	Content []*block `json:"content"`
	Usage   usage    `json:"usage"`
	ending
}

type ending struct {
	Stop    string `json:"stop_reason"`
	Details struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

type usage struct {
	Input      int `json:"input_tokens"` // beside what the cache has to do with
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
	Details    struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// usage is the call's in our meaning.
func (u usage) usage() agent.Usage {
	return agent.Usage{
		InputTokens: u.Input + u.CacheRead + u.CacheWrite, OutputTokens: u.Output,
		CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, ReasoningTokens: u.Details.Thinking,
	}
}

// Plain takes an answer in plain JSON: an error, or the reply of a proxy that does not stream.
func (r *reply) Plain(body []byte) error {
	var whole message
	var e event
	if json.Unmarshal(body, &e) != nil || json.Unmarshal(body, &whole) != nil {
		// Without the answer: it may be what a model wrote, which is not for errors.
		return &llm.Error{Kind: llm.ErrMalformed, Message: fmt.Sprintf("the answer is neither a stream of events nor JSON (%d bytes)", len(body))}
	}
	if e.Type == "error" || len(whole.Content) == 0 && whole.Stop == "" {
		return parseFailure(body).error(0)
	}
	r.begin(whole)
	for _, b := range whole.Content {
		r.start(b)
	}
	return r.Ended(io.EOF)
}

// Ended judges the end of a stream. Only a stop reason makes a reply whole.
func (r *reply) Ended(err error) error {
	if r.stop != "" {
		return nil
	}
	return llm.CutOff(err, r.events > 0, "the stream ended without a stop reason")
}

// Event takes in one event.
func (r *reply) Event(data []byte) (done bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	if e.Type == "error" {
		return false, parseFailure(data).error(0)
	}
	r.events++
	var said llm.Delta
	switch e.Type {
	case "message_start":
		r.begin(e.Message)
	case "content_block_start":
		said = r.start(e.Block)
	case "content_block_delta":
		said = r.grow(e)
	case "message_delta":
		r.end(e.Delta.ending, e.Usage)
	}
	if r.onDelta != nil {
		r.onDelta(said)
	}
	if e.Type == "message_stop" {
		return true, r.Ended(io.EOF)
	}
	return r.repeating, nil
}

func (r *reply) begin(m message) {
	r.model = m.Model
	r.end(m.ending, m.Usage)
}

// end takes in why the model stopped, and the counts of the whole reply so far, which take the place
// of earlier ones: where one is missing, the earlier one holds.
func (r *reply) end(e ending, u usage) {
	if e.Stop != "" {
		r.stop, r.why = e.Stop, cmp.Or(e.Details.Explanation, e.Details.Category)
	}
	was := r.usage
	r.usage = usage{
		Input: cmp.Or(u.Input, was.Input), Output: cmp.Or(u.Output, was.Output),
		CacheRead: cmp.Or(u.CacheRead, was.CacheRead), CacheWrite: cmp.Or(u.CacheWrite, was.CacheWrite),
	}
	r.usage.Details.Thinking = cmp.Or(u.Details.Thinking, was.Details.Thinking)
}

// start takes in a block, which is usually empty yet.
func (r *reply) start(b *block) llm.Delta {
	if b == nil {
		b = &block{} // of nothing that we know
	}
	b.begin()
	r.blocks = append(r.blocks, b)
	text := b.Text
	if r.filled(b) {
		text = b.Arguments
	}
	return r.said(llm.Delta{Content: text, Thinking: b.Thinking})
}

// grow adds to the last block, which the index names, too.
func (r *reply) grow(e event) llm.Delta {
	if len(r.blocks) == 0 {
		return llm.Delta{}
	}
	b := r.blocks[len(r.blocks)-1]
	if e.Index >= 0 && e.Index < len(r.blocks) {
		b = r.blocks[e.Index]
	}
	b.Text += e.Delta.Text
	b.Thinking += e.Delta.Thinking
	b.Signature += e.Delta.Signature
	b.Arguments += e.Delta.JSON
	text := e.Delta.Text
	if r.filled(b) {
		text = e.Delta.JSON
	}
	return r.said(llm.Delta{Content: text, Thinking: e.Delta.Thinking})
}

// filled reports whether a block is the form, which stands for a text.
func (r *reply) filled(b *block) bool { return r.fills && b.Type == "tool_use" && b.Name == form }

func (r *reply) said(d llm.Delta) llm.Delta {
	stuck := r.content.Add(d.Content)
	r.repeating = r.thinking.Add(d.Thinking) || stuck
	return d
}

// response returns the reply, or an error if there is none.
func (r *reply) response() (llm.Response, error) {
	if r.fills && slices.ContainsFunc(r.blocks, r.filled) {
		r.blocks = slices.DeleteFunc(r.blocks, func(b *block) bool { return b.Type != "text" || b.Text == "" })
		if r.stop == "tool_use" {
			r.stop = "end_turn"
		}
	}
	resp := llm.Response{
		Content:   r.content.String(),
		Thinking:  r.thinking.String(),
		ToolCalls: toolCalls(r.blocks),
		Finish:    finish(r.stop),
		Model:     r.model,
		Usage:     r.usage.usage(),
	}
	switch {
	case r.repeating: // it asks for nothing: its last call may be cut, too
		resp.Finish, resp.ToolCalls = llm.FinishRepeating, nil
		resp.Usage.OutputTokens, resp.Usage.ReasoningTokens = 0, 0 // these counts come at the end
		return resp, nil
	case resp.Finish == llm.FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = llm.FinishToolCalls
	case resp.Finish == llm.FinishFiltered && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &llm.Error{Kind: llm.ErrContentFiltered, Message: r.why}
	}
	resp.ProviderState = remember(r.asked, r.blocks)
	return resp, nil
}

// finish is a stop reason in our words. Only tools that run at Anthropic pause a turn, which no
// request of ours has, but a proxy's may.
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
func finish(stop string) llm.Finish {
	switch stop {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "tool_use":
		return llm.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "pause_turn":
		return llm.FinishPaused
	case "refusal":
		return llm.FinishFiltered
	}
	return llm.Finish(stop)
}

package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// reply assembles a model's reply.
type reply struct {
	asked   string // the model's name in the request
	fills   bool   // its text is the input of the form tool
	onDelta func(llm.Delta)

	events    int
	blocks    []*building
	open      map[llm.Index]*building // by their index
	last      *building
	content   llm.Text
	thinking  llm.Text
	repeating bool
	over      bool   // the arguments of a call are too long or repeat themselves
	note      string // text of events without a type
	stop      string // in Anthropic's words
	why       string // of a refusal
	model     string
	usage     usage
}

// event is any event of a stream. Unknown kinds of events and fields are ignored, as Anthropic requires, because it
// adds new ones.
// https://platform.claude.com/docs/en/build-with-claude/streaming
type event struct {
	Type    string             `json:"type"`
	Message llm.Loose[message] `json:"message"` // message_start
	Index   llm.Index          `json:"index"`
	Block   *wireBlock         `json:"content_block"` // content_block_start
	Delta   piece              `json:"delta"`
	Usage   llm.Loose[usage]   `json:"usage"` // message_delta: of the whole reply so far
	Error   json.RawMessage    `json:"error"`
}

// piece is an addition to a block or to the message. Only its structure is strict, because it holds the model's text.
type piece struct {
	Text      llm.Word  `json:"text"`
	Thinking  llm.Word  `json:"thinking"`
	Signature llm.Word  `json:"signature"`
	JSON      llm.Piece `json:"partial_json"`
	ending              // message_delta
}

// message is the beginning of a stream, or a whole answer in plain JSON.
type message struct {
	Model   llm.Word         `json:"model"`
	Content wireBlocks       `json:"content"`
	Usage   llm.Loose[usage] `json:"usage"`
	ending
}

type ending struct {
	Stop    llm.Word `json:"stop_reason"`
	Details llm.Loose[struct {
		Category    llm.Word `json:"category"`
		Explanation llm.Word `json:"explanation"`
	}] `json:"stop_details"`
}

type usage struct {
	Input      llm.Count `json:"input_tokens"` // without cached input
	CacheRead  llm.Count `json:"cache_read_input_tokens"`
	CacheWrite llm.Count `json:"cache_creation_input_tokens"`
	Output     llm.Count `json:"output_tokens"`
	Details    llm.Loose[struct {
		Thinking llm.Count `json:"thinking_tokens"`
	}] `json:"output_tokens_details"`
}

// usage converts the call's usage.
func (u usage) usage() agent.Usage {
	return agent.Usage{
		InputTokens: int(u.Input + u.CacheRead + u.CacheWrite), OutputTokens: int(u.Output),
		CacheReadTokens: int(u.CacheRead), CacheWriteTokens: int(u.CacheWrite), ReasoningTokens: int(u.Details.V.Thinking),
	}
}

// Plain reads an answer in plain JSON: an error, or the reply of a proxy that does not stream.
func (r *reply) Plain(body []byte) error {
	var whole llm.Loose[message]
	var e llm.Loose[event]
	if !json.Valid(body) {
		return llm.NotJSON(body)
	}
	_, _ = json.Unmarshal(body, &e), json.Unmarshal(body, &whole)
	silent := len(whole.V.Content) == 0 && whole.V.Stop == ""
	switch {
	case e.V.Type == "error", !llm.EmptyJSON(e.V.Error), silent && llm.ErrorWords(body) != "":
		return parseFailure(body).error(0)
	case silent:
		return &llm.Error{Kind: llm.ErrNotAModel, Message: "the response has no content"}
	}
	r.begin(whole.V)
	for n, b := range whole.V.Content {
		r.start(llm.Index{N: n, Known: true}, &b)
	}
	return r.Ended(io.EOF)
}

// Ended judges the end of a stream. Only a stop reason makes a reply complete.
func (r *reply) Ended(err error) error {
	if r.stop != "" || r.over {
		return nil
	}
	said := "the stream ended without a stop reason"
	if r.note != "" {
		said += ": " + r.note
	}
	return llm.CutOff(err, r.events > 0, said)
}

// Event processes one event.
func (r *reply) Event(in llm.Event) (done bool, err error) {
	data := bytes.TrimSpace(in.Data)
	if llm.DoneMark(data) {
		return true, r.Ended(io.EOF)
	}
	var e event
	err = json.Unmarshal(data, &e)
	if r.stop != "" && (err != nil || e.Type == "error" || in.Name == llm.ErrorEvent || !llm.EmptyJSON(e.Error)) {
		return true, nil // the reply is complete: an error after it is about something else
	}
	if err != nil && in.Name != llm.ErrorEvent {
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	if e.Type == "error" || in.Name == llm.ErrorEvent || !llm.EmptyJSON(e.Error) {
		return false, parseFailure(data).error(0)
	}
	if e.Type == "" {
		r.note = llm.ErrorWords(data)
	}
	r.events++
	var said llm.Delta
	switch e.Type {
	case "message_start":
		r.begin(e.Message.V)
	case "content_block_start":
		said = r.start(e.Index, e.Block)
	case "content_block_delta":
		said = r.grow(e)
	case "message_delta":
		r.end(e.Delta.ending, e.Usage.V)
	}
	if r.onDelta != nil {
		r.onDelta(said)
	}
	if e.Type == "message_stop" {
		return true, r.Ended(io.EOF)
	}
	return r.repeating || r.over, nil
}

func (r *reply) begin(m message) {
	r.model = string(m.Model)
	r.end(m.ending, m.Usage.V)
}

// end processes the stop reason and the usage of the whole reply so far. Counts replace earlier ones; missing counts
// keep them.
func (r *reply) end(e ending, u usage) {
	if e.Stop != "" {
		r.stop, r.why = string(e.Stop), string(cmp.Or(e.Details.V.Explanation, e.Details.V.Category))
	}
	was := r.usage
	r.usage = usage{
		Input: cmp.Or(u.Input, was.Input), Output: cmp.Or(u.Output, was.Output),
		CacheRead: cmp.Or(u.CacheRead, was.CacheRead), CacheWrite: cmp.Or(u.CacheWrite, was.CacheWrite),
	}
	r.usage.Details.V.Thinking = cmp.Or(u.Details.V.Thinking, was.Details.V.Thinking)
}

// start processes a new block, which is usually empty.
func (r *reply) start(at llm.Index, wire *wireBlock) llm.Delta {
	b := wire.open()
	r.blocks = append(r.blocks, b)
	if r.open == nil {
		r.open = map[llm.Index]*building{}
	}
	r.open[at] = b
	r.last = b
	return r.said(llm.Delta{Content: b.text.String(), Thinking: b.thinking.String()})
}

// grow adds to the block with an index. Some gateways number blocks differently or not at all: a piece without a known
// block continues the last one.
func (r *reply) grow(e event) llm.Delta {
	b := r.open[e.Index]
	d := e.Delta
	if b == nil || !e.Index.Known {
		b = r.last
	}
	if kind := d.kind(); b == nil || e.Index.Known && r.open[e.Index] == nil && kind != "" && kind != b.Type {
		if kind == "" {
			return llm.Delta{}
		}
		r.start(e.Index, &wireBlock{Type: llm.Word(kind)}) // its start event is missing
		b = r.last
	}
	b.text.WriteString(string(d.Text))
	b.thinking.WriteString(string(d.Thinking))
	b.signature.WriteString(string(d.Signature))
	text := string(d.Text)
	if r.filled(&b.block) {
		text = string(d.JSON)
	}
	if b.args.Add(string(d.JSON)) {
		r.over, r.repeating = true, b.args.Repeating()
	}
	return r.said(llm.Delta{Content: text, Thinking: string(d.Thinking)})
}

// kind returns the type of the block that a piece belongs to, or an empty string if that is unclear.
func (p piece) kind() string {
	switch {
	case p.Text != "":
		return "text"
	case p.Thinking != "", p.Signature != "":
		return "thinking"
	case p.JSON != "":
		return "tool_use"
	}
	return ""
}

// filled reports whether a block is the form, whose input replaces the text.
func (r *reply) filled(b *block) bool { return r.fills && b.Type == "tool_use" && b.Name == form }

func (r *reply) said(d llm.Delta) llm.Delta {
	stuck := r.content.Add(d.Content)
	r.repeating = r.thinking.Add(d.Thinking) || stuck || r.repeating
	return d
}

// response returns the reply, or an error if there is none.
func (r *reply) response() (llm.Response, error) {
	var blocks []*block
	for _, b := range r.blocks {
		if r.filled(&b.block) && b.args.Len() == 0 {
			r.said(llm.Delta{Content: b.whole})
		}
		blocks = append(blocks, b.built())
	}
	if r.fills && slices.ContainsFunc(blocks, r.filled) {
		blocks = slices.DeleteFunc(blocks, func(b *block) bool { return b.Type != "text" || b.Text == "" })
		if r.stop == "tool_use" {
			r.stop = "end_turn"
		}
	}
	resp := llm.Response{
		Content:   r.content.String(),
		Thinking:  r.thinking.String(),
		ToolCalls: toolCalls(blocks),
		Finish:    llm.ReadFinish(r.stop),
		Model:     r.model,
		Usage:     r.usage.usage(),
	}
	switch {
	case r.repeating: // no calls: the last one may be cut
		resp.Finish, resp.ToolCalls = llm.FinishRepeating, nil
		resp.Usage.OutputTokens, resp.Usage.ReasoningTokens = 0, 0 // the counts would come at the end
		return resp, nil
	case r.over:
		resp.Finish = llm.FinishToolCalls
	case resp.Finish == llm.FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = llm.FinishToolCalls
	case resp.Finish == llm.FinishFiltered && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &llm.Error{Kind: llm.ErrContentFiltered, Message: r.why}
	}
	resp.SignedThinking = slices.ContainsFunc(blocks, func(b *block) bool { return b.thought() && b.Signature+b.Data != "" })
	resp.ProviderState = remember(r.asked, blocks)
	return resp, nil
}

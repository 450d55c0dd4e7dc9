package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// anthropicFormat is the format of the Messages API, as documented (2026-11-22):
// https://platform.claude.com/docs/en/build-with-claude/streaming and …/api/errors. A chunk is one or more events, one
// per line: the events around a delta are in the same chunk.
type anthropicFormat struct{}

type object map[string]any

func line(value object) string {
	data, err := json.Marshal(value)
	if err != nil { // a mistake in the script: a call's arguments are not JSON
		return `{"type":"error","error":{"type":"api_error","message":"llmtest: the arguments of a call are not JSON"}}`
	}
	return string(data)
}

func (f anthropicFormat) chunks(r Reply, req Request) []string {
	out := []string{}
	for i, b := range r.anthropicBlocks() {
		stop := line(object{"type": "content_block_stop", "index": i})
		deltas := b.deltas(r.size)
		for n, delta := range deltas {
			chunk := line(object{"type": "content_block_delta", "index": i, "delta": delta})
			if n == 0 {
				chunk = line(object{"type": "content_block_start", "index": i, "content_block": b.empty()}) + "\n" + chunk
			}
			if n == len(deltas)-1 {
				chunk += "\n" + stop
			}
			out = append(out, chunk)
		}
	}
	start := line(object{"type": "message_start", "message": f.message(r, req, false)}) + "\n" + `{"type":"ping"}`
	if !r.fault.noFinish {
		delta := line(object{
			"type": "message_delta", "delta": object{"stop_reason": r.anthropicStop(), "stop_sequence": nil}, "usage": r.anthropicUsage(req),
		})
		out = append(out, delta+"\n"+`{"type":"message_stop"}`)
	}
	if len(out) > 0 {
		out[0] = start + "\n" + out[0]
	}
	return out
}

func (f anthropicFormat) whole(r Reply, req Request) string { return line(f.message(r, req, true)) }

func (anthropicFormat) message(r Reply, req Request, whole bool) object {
	out := object{
		"id": "msg_llmtest", "type": "message", "role": "assistant", "model": r.model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": r.anthropicUsage(req),
	}
	if r.model == "" {
		out["model"] = req.Model
	}
	if whole {
		blocks := []object{}
		for _, b := range r.anthropicBlocks() {
			blocks = append(blocks, object(b))
		}
		out["content"], out["stop_reason"] = blocks, r.anthropicStop()
	}
	return out
}

// anthropicBlock is a complete block.
type anthropicBlock object

func (r Reply) anthropicBlocks() (out []anthropicBlock) {
	if r.thinking != "" || r.signature != "" {
		out = append(out, anthropicBlock{"type": "thinking", "thinking": r.thinking, "signature": r.signature})
	}
	if r.text != "" {
		out = append(out, anthropicBlock{"type": "text", "text": r.text})
	}
	for i, c := range r.calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		out = append(out, anthropicBlock{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	return out
}

// empty returns the block as it begins.
func (b anthropicBlock) empty() object {
	switch b["type"] {
	case "thinking":
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case "text":
		return object{"type": "text", "text": ""}
	}
	return object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
}

// deltas returns the pieces of the block, of size characters each. The input of a call begins with an empty piece.
func (b anthropicBlock) deltas(size int) (out []object) {
	add := func(kind, field, text string) {
		for _, part := range split(text, size) {
			out = append(out, object{"type": kind, field: part})
		}
	}
	switch b["type"] {
	case "thinking":
		add("thinking_delta", "thinking", b["thinking"].(string))
		if signature := b["signature"].(string); signature != "" {
			out = append(out, object{"type": "signature_delta", "signature": signature})
		}
	case "text":
		add("text_delta", "text", b["text"].(string))
	default:
		out = append(out, object{"type": "input_json_delta", "partial_json": ""})
		add("input_json_delta", "partial_json", string(b["input"].(json.RawMessage)))
	}
	return out
}

func (r Reply) anthropicStop() string {
	switch r.finish {
	case "":
		if len(r.calls) > 0 {
			return "tool_use"
		}
		return "end_turn"
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	}
	return r.finish
}

// anthropicUsage counts cached input separately from the input, like Anthropic.
func (r Reply) anthropicUsage(req Request) object {
	use := r.tokens(req)
	if use == nil {
		return object{}
	}
	cache := promptDetails{}
	if use.Details != nil {
		cache = *use.Details
	}
	return object{
		"input_tokens": use.Prompt - cache.Cached - cache.Written, "output_tokens": use.Completion,
		"cache_read_input_tokens": cache.Cached, "cache_creation_input_tokens": cache.Written,
	}
}

func (f anthropicFormat) say(r Reply, _ Request, text string) string {
	return line(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}})
}

// refusal returns an error in Anthropic's form.
func (anthropicFormat) refusal(f fault) (int, string) {
	status, kind, message := f.status, f.code, f.message
	switch f.code {
	case "rate_limit_exceeded":
		kind = "rate_limit_error"
	case "insufficient_quota":
		status, kind = http.StatusBadRequest, "invalid_request_error"
		message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case "invalid_api_key":
		kind = "authentication_error"
	case "context_length_exceeded":
		kind, message = "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"
	case "server_error":
		kind = "api_error"
	}
	if f.status == http.StatusOK || f.status == 0 {
		status = http.StatusOK
	}
	return status, line(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_llmtest"})
}

// frame names each event by the type in its data.
func (anthropicFormat) frame(_ int, data string) string {
	var out strings.Builder
	for one := range strings.Lines(data) {
		var event struct{ Type string }
		if json.Unmarshal([]byte(one), &event) != nil || event.Type == "" {
			event.Type = "content_block_delta"
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", event.Type, strings.TrimSpace(one))
	}
	return out.String()
}

func (anthropicFormat) end(int, bool) string { return "" }

package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// responsesFormat is the format of OpenAI's Responses API, as documented (2026-11-22):
// https://platform.openai.com/docs/api-reference/responses-streaming. A chunk is one or more events, one per line.
type responsesFormat struct{ anthropicFormat }

func (f responsesFormat) chunks(r Reply, req Request) []string {
	out := []string{}
	for n, item := range r.responsesItems() {
		open := line(object{
			"type": "response.output_item.added", "output_index": n, "item": object{"type": item["type"], "status": "in_progress"},
		})
		text, kind := "", ""
		switch item["type"] {
		case "reasoning":
			text, kind = r.thinking, "response.reasoning_summary_text.delta"
		case "message":
			text, kind = r.text, "response.output_text.delta"
		default:
			text, kind = item["arguments"].(string), "response.function_call_arguments.delta"
		}
		for i, part := range split(text, r.size) {
			chunk := line(object{"type": kind, "output_index": n, "delta": part})
			if i == 0 {
				chunk = open + "\n" + chunk
			}
			out = append(out, chunk)
		}
		done := line(object{"type": "response.output_item.done", "output_index": n, "item": item})
		if len(out) == 0 || text == "" {
			out = append(out, open+"\n"+done)
			continue
		}
		out[len(out)-1] += "\n" + done
	}
	if len(out) > 0 {
		out[0] = line(object{"type": "response.created", "response": object{"status": "in_progress"}}) + "\n" + out[0]
	}
	if !r.fault.noFinish {
		whole := f.object(r, req)
		out = append(out, line(object{"type": "response." + whole["status"].(string), "response": whole}))
	}
	return out
}

func (f responsesFormat) whole(r Reply, req Request) string { return line(f.object(r, req)) }

func (responsesFormat) object(r Reply, req Request) object {
	out := object{
		"id": "resp_llmtest", "object": "response", "status": "completed", "model": r.model, "output": r.responsesItems(), "error": nil,
	}
	if r.model == "" {
		out["model"] = req.Model
	}
	switch r.finish {
	case "", "stop", "tool_calls":
	case "length":
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	default:
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": r.finish}
	}
	if use := r.tokens(req); use != nil {
		details := promptDetails{}
		if use.Details != nil {
			details = *use.Details
		}
		out["usage"] = object{"input_tokens": use.Prompt, "output_tokens": use.Completion, "input_tokens_details": details}
	}
	return out
}

// responsesItems returns the items of the output. Signed thinking is encrypted.
func (r Reply) responsesItems() (out []object) {
	if r.thinking != "" || r.signature != "" {
		item := object{"type": "reasoning", "id": "rs_llmtest", "summary": []object{{"type": "summary_text", "text": r.thinking}}}
		if r.signature != "" {
			item["encrypted_content"] = r.signature
		}
		out = append(out, item)
	}
	if r.text != "" {
		out = append(out, object{
			"type": "message", "id": "msg_llmtest", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": r.text, "annotations": []object{}}},
		})
	}
	for i, c := range r.calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		out = append(out, object{"type": "function_call", "id": "fc_llmtest", "call_id": c.ID, "name": c.Name, "arguments": c.Args})
	}
	return out
}

func (responsesFormat) say(_ Reply, _ Request, text string) string {
	return line(object{"type": "response.output_text.delta", "output_index": 0, "delta": text})
}

// refusal is that of chat completions. Within a stream it is an event.
func (responsesFormat) refusal(f fault) (int, string) {
	status, body := openAIFormat{}.refusal(f)
	if status == 0 || status == http.StatusOK {
		return status, line(object{"type": "error", "code": f.code, "message": f.message, "param": nil})
	}
	return status, body
}

// responsesItem is an item of a request's input.
type responsesItem struct {
	Type, Role      string
	Content, Output json.RawMessage
	CallID          string `json:"call_id"`
	Name, Arguments string
	Phase           string
	Encrypted       string `json:"encrypted_content"`
	raw             json.RawMessage
}

// UnmarshalJSON keeps the original item, too.
func (i *responsesItem) UnmarshalJSON(data []byte) error {
	type plain responsesItem
	err := json.Unmarshal(data, (*plain)(i))
	i.raw = bytes.Clone(data)
	if i.Type == "reasoning" {
		return nil // goodReasoning reports what is wrong with it
	}
	return err
}

// decodeResponses converts a request of the Responses API to the form of chat completions.
func decodeResponses(r *http.Request, body []byte) (Request, error) {
	req := Request{Wire: Responses, Body: body, Header: r.Header.Clone()}
	req.Key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	req.Header.Del("Authorization")
	var in struct {
		Model       string
		Stream      bool
		Store       *bool
		Include     []string
		MaxTokens   int `json:"max_output_tokens"`
		Temperature *float64
		Tools       []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		Input []responsesItem
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, fmt.Errorf("decode request: %w", err)
	}
	req.Model, req.Stream, req.MaxTokens, req.Temperature = in.Model, in.Stream, in.MaxTokens, in.Temperature
	for _, t := range in.Tools {
		tool := Tool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Parameters
		req.Tools = append(req.Tools, tool)
	}
	var err error
	req.Messages, err = responsesMessages(in.Input)
	return req, err
}

// responsesMessages converts the items of an input to messages, or returns the service's error about them.
func responsesMessages(items []responsesItem) (messages []Message, err error) {
	signature := ""
	for n, item := range items {
		said := Message{Role: item.Role, Signature: signature}
		var text string
		switch item.Type {
		case "reasoning":
			if err := goodReasoning(n, item.raw); err != nil {
				return nil, err
			}
			if n+1 == len(items) || items[n+1].Role == "user" || items[n+1].Type == "function_call_output" {
				return nil, errors.New("Item 'rs_llmtest' of type 'reasoning' was provided without its required following item.")
			}
			signature = item.Encrypted
			continue
		case "function_call":
			call := ToolCall{ID: item.CallID, Type: "function"}
			call.Function.Name, call.Function.Arguments = item.Name, item.Arguments
			said.Role, said.ToolCalls = "assistant", []ToolCall{call}
		case "function_call_output":
			_ = json.Unmarshal(item.Output, &text)
			said.Role, said.ToolCallID, said.Content = "tool", item.CallID, &text
		default:
			if p := item.Phase; p != "" && (item.Role != "assistant" || p != "commentary" && p != "final_answer") {
				return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'commentary' and 'final_answer'.", p)
			}
			_ = json.Unmarshal(item.Content, &text)
			said.Content = &text
		}
		signature = ""
		last := len(messages) - 1
		if item.Type == "function_call" && last >= 0 && messages[last].Role == "assistant" {
			messages[last].ToolCalls = append(messages[last].ToolCalls, said.ToolCalls...)
			continue
		}
		if said.Role == "assistant" && last >= 0 && len(messages[last].ToolCalls) > 0 { // text between the calls of one reply
			text = messages[last].Text() + text
			messages[last].Content = &text
			continue
		}
		messages = append(messages, said)
	}
	return messages, nil
}

package llm

import "strings"

// finishes maps the finish reasons of providers and gateways, in lower case with underscores. A gateway often passes on
// the reason of the provider behind it, whatever protocol it uses itself.
var finishes = map[string]Finish{
	"stop": FinishStop, "end_turn": FinishStop, "stop_sequence": FinishStop, "eos": FinishStop, "eos_token": FinishStop, "end": FinishStop,
	"complete": FinishStop, "completed": FinishStop, "finished": FinishStop, "done": FinishStop, "endoftext": FinishStop,
	"end_of_text": FinishStop, "end_of_turn": FinishStop, "stop_token": FinishStop,
	"tool_calls": FinishToolCalls, "tool_call": FinishToolCalls, "tool_use": FinishToolCalls, "function_call": FinishToolCalls,
	"function_calls": FinishToolCalls,
	"length":         FinishLength, "max_tokens": FinishLength, "max_output_tokens": FinishLength, "max_length": FinishLength,
	"max_new_tokens": FinishLength, "model_length": FinishLength, "token_limit": FinishLength,
	"model_context_window_exceeded": FinishLength,
	"content_filter":                FinishFiltered, "content_filtered": FinishFiltered, "safety": FinishFiltered, "refusal": FinishFiltered,
	"recitation": FinishFiltered, "blocklist": FinishFiltered, "prohibited_content": FinishFiltered, "spii": FinishFiltered,
	"guardrail_intervened": FinishFiltered, "sensitive": FinishFiltered,
	"pause_turn": FinishPaused,
}

// ReadFinish returns the meaning of a provider's finish reason in any case. An unknown reason is returned unchanged.
func ReadFinish(word string) Finish {
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(word)))
	if finish, ok := finishes[strings.TrimPrefix(plain, "finish_reason_")]; ok {
		return finish
	}
	return Finish(word)
}

// DoneMark reports whether data is the event "[DONE]" that ends streams of OpenAI's protocol, in any case.
func DoneMark(data []byte) bool { return strings.EqualFold(strings.TrimSpace(string(data)), "[DONE]") }

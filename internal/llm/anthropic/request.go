package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	// someThinking is the default budget of a model that needs one.
	someThinking = 8192 // tokens
	// leastThinking is the smallest budget that the API accepts.
	leastThinking = 1024 // tokens
)

// newRequest encodes a request. Fields without an SDK type are returned as settings. formats means that the server has
// structured output by output_config.format.
func newRequest(req llm.Request, formats bool) (sdk.MessageNewParams, []option.RequestOption) {
	claude := llm.ParseClaude(req.Model)
	conversation := newConversation(req)
	params := sdk.MessageNewParams{
		Model:     sdk.Model(req.Model),
		MaxTokens: int64(req.MaxTokens),
		Messages:  conversation.turns,
		System:    system(req.Messages),
		Tools:     tools(req.Tools),
	}
	if len(req.Tools) == 0 && len(req.Withheld) > 0 { // keeps the cache of the tools and the system text
		params.Tools = tools(req.Withheld)
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	}
	if effort := req.Thinking.Effort; effort != "" {
		params.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
	}
	var settings []option.RequestOption
	switch {
	case formats && req.JSON && llm.ClaudeKeepsSchema(req.Model, req.Schema): // unchanged: the SDK's type would lose the order
		settings = append(settings, option.WithJSONSet("output_config.format", outputFormat{"json_schema", req.Schema}))
	case fills(req, formats):
		params.Tools = tools([]llm.Tool{{Name: form, Description: "Give your final reply here.", Schema: req.Schema}})
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: form}}
	}
	thinking := thinking(req.Thinking, claude, conversation.continuesUnthought)
	if req.Unthinking {
		thinking = nil
	}
	if thinking != nil {
		// The SDK's type would write a warning to the process's stderr for some models.
		settings = append(settings, option.WithJSONSet("thinking", thinking))
	}
	var betas []string
	if thinking != nil && thinking.Binding != nil {
		betas = append(betas, "thinking-binding-controls-2026-08-01")
	}
	if thinking != nil && thinking.Budget > 0 {
		params.MaxTokens = max(params.MaxTokens, int64(thinking.Budget+leastThinking)) // thinking counts towards the limit
	}
	if thinking != nil && thinking.Budget > 0 && len(req.Tools) > 0 && claude.Version >= 400 {
		betas = append(betas, "interleaved-thinking-2025-05-14") // allows thinking between calls
	}
	if len(betas) > 0 {
		settings = append(settings, option.WithHeader("anthropic-beta", strings.Join(betas, ",")))
	}
	if req.Temperature != nil && !claude.PicksTokens() && (thinking == nil || thinking.Type == "disabled") {
		params.Temperature = param.NewOpt(float64(*req.Temperature)) // with thinking, only 1 is accepted
	}
	if req.Conversation != "" {
		markCached(&params)
	}
	return params, settings
}

// form is the tool that a model fills in if it has no other way to follow a schema.
const form = "output"

// fills reports whether the reply is the input of the form.
func fills(req llm.Request, formats bool) bool {
	return req.JSON && !(formats && llm.ClaudeKeepsSchema(req.Model, req.Schema)) && llm.ClaudeFills(req)
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// thinkingConfig is the field "thinking".
type thinkingConfig struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// thinking encodes how much a model thinks. Nil means the model's default. Newer models show their thinking only on
// request. Their thinking is bound to the conversation before it, which compression or masking may have changed since.
// The server is asked to drop such thinking and not to refuse the request.
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
func thinking(want agent.Thinking, claude llm.Claude, continuesUnthought bool) *thinkingConfig {
	adaptive := &thinkingConfig{Type: "adaptive", Display: "summarized"}
	if claude.BindsThoughts() {
		adaptive.Binding = &binding{Mismatch: "drop_block"}
	}
	off := &thinkingConfig{Type: "disabled"}
	switch {
	case want.Mode == agent.ThinkingOff:
		return off
	case want.Mode == agent.ThinkingAdaptive, want.Mode == agent.ThinkingOn && want.Budget == 0 && claude.Adapts(),
		want.Mode == "" && claude.ThinksUnasked():
		return adaptive
	case want.Mode == "":
		return nil
	case continuesUnthought:
		return off
	}
	out := &thinkingConfig{Type: "enabled", Budget: max(want.Budget, leastThinking)}
	if want.Budget == 0 {
		out.Budget = someThinking
	}
	return out
}

// system collects the system messages, wherever they are in the conversation.
func system(messages []agent.Message) (out []sdk.TextBlockParam) {
	for _, m := range messages {
		if m.Role == agent.System && strings.TrimSpace(m.Content) != "" {
			out = append(out, sdk.TextBlockParam{Text: m.Content})
		}
	}
	return out
}

func tools(all []llm.Tool) (out []sdk.ToolUnionParam) {
	for _, t := range all {
		tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: &tool})
	}
	return out
}

// markCached sets the four cache breakpoints that a request may have: after the tools, the system text, the last turn,
// and the last turn of the previous request. The cache looks for earlier entries only 20 blocks before a breakpoint,
// and one step of an agent may have more.
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching
func markCached(params *sdk.MessageNewParams) {
	mark := sdk.NewCacheControlEphemeralParam()
	if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = mark
	}
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = mark
	}
	marked := 0
	for i := len(params.Messages) - 1; i >= 0 && marked < 2; i-- {
		turn := params.Messages[i]
		if turn.Role != sdk.MessageParamRoleUser {
			continue
		}
		if control := turn.Content[len(turn.Content)-1].GetCacheControl(); control != nil {
			*control = mark
			marked++
		}
	}
}

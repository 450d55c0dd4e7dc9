package outgoing

import (
	"regexp"
	"strconv"

	"github.com/inquest-dev/inquest/internal/agent"
)

// lesson is a sentence in refusals, with the rule that it reveals about the server.
type lesson struct {
	// sentence matches the text of the servers in the comment above it. A group of digits is a limit.
	sentence *regexp.Regexp
	learn    func(d *agent.Dialect, limit int)
}

// lessons are about servers that no plan describes: proxies, and models under names of the operator's choice. Each
// sentence is the server's complete statement about one field, because parts of it occur in other refusals.
var lessons = []lesson{
	// LiteLLM in front of Bedrock (litellm/llms/bedrock/chat/converse_transformation.py, map_tool_choice_values).
	{regexp.MustCompile(`Bedrock doesn't support tool_choice='?none'?\.`), refusesNone},
	// OpenRouter, with status 404. https://github.com/zed-industries/zed/issues/36094
	{regexp.MustCompile(`No endpoints found that support the provided 'tool_choice' value`), refusesNone},
	// DeepSeek: "deepseek-reasoner does not …", "Thinking mode does not …".
	// https://github.com/deepseek-ai/DeepSeek-V3/issues/1376
	{regexp.MustCompile("(?:deepseek-[a-z0-9.-]+|Thinking mode) does not support this `?tool_choice"), refusesNone},
	// Mistral, and servers that use mistral-common. https://github.com/BerriAI/litellm/issues/17761
	{regexp.MustCompile(`Unexpected role '(?:user|assistant|system)' after role '(?:user|assistant|tool)'`), alternates},
	// Templates of Mistral's and other open models, in vLLM, llama.cpp (500), LM Studio and LocalAI (inside a stream):
	// tool_chat_template_mistral.jinja, https://github.com/ggml-org/llama.cpp/issues/19851,
	// https://github.com/sterlp/eclipse-peon-ai/issues/75
	{regexp.MustCompile(`onversation roles must alternate user(?:/assistant/user/assistant/| and assistant)`), alternates},
	// DeepSeek, now and before. https://github.com/earendil-works/pi/issues/3636, https://github.com/abhigyanpatwari/GitNexus/issues/43
	{regexp.MustCompile("reasoning_content`? in the thinking mode must be passed back|" +
		"Missing `?reasoning_content`? field in (?:an|the) assistant message"), wantsThoughts},
	// Groq. https://github.com/vercel/ai/pull/16540, https://github.com/agno-agi/agno/issues/1065
	{regexp.MustCompile("(?:json mode|response_format['`] json_object) cannot be combined with tool/function calling"), plainBesideTools},
	// Google's endpoint for OpenAI's protocol. https://github.com/openai/openai-agents-python/issues/656
	{regexp.MustCompile(`(?:Function calling|Tool use) with a response mime type: 'application/json' is unsupported`), plainBesideTools},
	// OpenAI and Azure. https://github.com/getsentry/sentry-mcp/issues/106
	{regexp.MustCompile(`Invalid 'tools\[\d+\](?:\.function)?\.description': string too long\. Expected a string with maximum length (\d+)`),
		func(d *agent.Dialect, limit int) { lower(&d.MaxDescription, limit) }},
	// The same for the list of tools. https://github.com/0x4m4/hexstrike-ai/issues/29
	{regexp.MustCompile(`Invalid 'tools': array too long\. Expected an array with maximum length (\d+)`), maxTools},
	// Groq. https://github.com/HunorLaczko/ha-groq-cloud-api/issues/25
	{regexp.MustCompile(`'tools' ?: maximum number of items is (\d+)`), maxTools},
	// xAI. https://github.com/anomalyco/opencode/issues/28911
	{regexp.MustCompile(`Maximum tools limit reached\. \d+ tools have been provided but the maximum is (\d+)`), maxTools},
	// Gemini. https://github.com/google-gemini/gemini-cli/issues/19083
	{regexp.MustCompile(`\bfunction_declarations: (?:\[\w+\] )?At most (\d+) function declarations can be specified`), maxTools},
	// OpenAI. https://github.com/opencode-ai/opencode/issues/140
	{regexp.MustCompile(`max_tokens is too large: \d+\. This model supports at most (\d+) completion tokens`), maxTokens},
	// DeepSeek. https://github.com/deepseek-ai/DeepSeek-V3/issues/69
	{regexp.MustCompile(`Invalid max_tokens value, the valid range of max_tokens is \[1, (\d+)\]`), maxTokens},
	// Anthropic. https://github.com/OpenHands/OpenHands/issues/11090
	{regexp.MustCompile(`max_tokens: \d+ > (\d+), which is the maximum allowed number of output tokens`), maxTokens},
	// Vertex AI. https://github.com/stackblitz-labs/bolt.diy/issues/955
	{regexp.MustCompile(`maxOutputTokens value of \d+ but the supported range is from 1 \(inclusive\) to (\d+) \(exclusive\)`),
		func(d *agent.Dialect, limit int) { lower(&d.MaxTokens, limit-1) }},
	// OpenAI and Azure. https://github.com/cline/cline/issues/341, https://github.com/npiv/chatblade/issues/100
	{regexp.MustCompile(`Unsupported (?:parameter|value): 'temperature' (?:is not supported|does not support \S+) with this model`),
		refusesTemperature},
	// Anthropic. https://github.com/RooCodeInc/Roo-Code/issues/12162, https://github.com/mnfst/modelparams.dev/issues/214
	{regexp.MustCompile("`?temperature`? (?:is deprecated for this model|may only be set to 1 when thinking is enabled)"), refusesTemperature},
	// Gemini. https://github.com/RooCodeInc/Roo-Code/issues/10700, https://github.com/lobehub/lobehub/issues/7985,
	// https://github.com/immersive-translate/immersive-translate/issues/2976
	{regexp.MustCompile(`Thinking level is not supported for this model|Thinking is not enabled for models/|` +
		`thinking_config is not supported`), refusesThinking},
	// Vertex AI. https://github.com/googleapis/js-genai/issues/681, https://github.com/jenslys/opencode-gemini-auth/issues/14
	{regexp.MustCompile(`Unable to submit request because (?:thinking(?:_level(?: [A-Z]+)?)? is not supported by this model|` +
		`Thinking_config\.include_thoughts is only enabled when thinking is enabled)`), refusesThinking},
	// OpenAI and Azure. https://github.com/langchain-ai/langchain/issues/31490
	{regexp.MustCompile(`Invalid parameter: '(?:response_format|text\.format)' of type 'json_schema' is not supported with this model`),
		refusesSchema},
	{regexp.MustCompile(`Invalid schema for (?:response_format|text\.format) '`), refusesSchema},
	// DeepSeek. https://github.com/ItzCrazyKns/Vane/issues/969, https://github.com/browser-use/browser-use/pull/215
	{regexp.MustCompile("This response_format type is unavailable now|response_format\\.type `json_schema` is unavailable now"),
		refusesSchema},
	// Anthropic. https://github.com/home-assistant/core/issues/173771
	{regexp.MustCompile(`\boutput_config\.format\.schema: `), refusesSchema},
	// Gemini. https://github.com/browser-use/browser-use/issues/3786
	{regexp.MustCompile(`\bgeneration_config\.response_(?:json_)?schema\b`), refusesSchema},
	// Groq, now and before. https://github.com/RooCodeInc/Roo-Code/issues/5136, https://github.com/skapadia3214/groq-moa/issues/8
	{regexp.MustCompile("max_(?:completion_)?tokens[`']?(?: for `[^`]+`)? must be less than or equal to `?(\\d+)"), maxTokens},
}

func refusesNone(d *agent.Dialect, _ int)        { d.RefusesNone = true }
func wantsThoughts(d *agent.Dialect, _ int)      { d.WantsThoughts = true }
func alternates(d *agent.Dialect, _ int)         { d.Alternates = true }
func plainBesideTools(d *agent.Dialect, _ int)   { d.PlainBesideTools = true }
func refusesTemperature(d *agent.Dialect, _ int) { d.RefusesTemperature = true }
func refusesThinking(d *agent.Dialect, _ int)    { d.RefusesThinking = true }
func refusesSchema(d *agent.Dialect, _ int)      { d.RefusesSchema = true }
func maxTools(d *agent.Dialect, limit int)       { lower(&d.MaxTools, limit) }
func maxTokens(d *agent.Dialect, limit int)      { lower(&d.MaxTokens, limit) }

// lower sets a limit unless the dialect has the same or a lower one. Zero means no limit.
func lower(known *int, limit int) {
	if limit > 0 && (*known == 0 || limit < *known) {
		*known = limit
	}
}

// Learn returns the dialect of a server that refused a request with this text. ok is false if the text reveals nothing
// new about the server, so that a retry would change nothing.
func Learn(d agent.Dialect, refusal string) (_ agent.Dialect, ok bool) {
	for _, lesson := range lessons {
		said := lesson.sentence.FindStringSubmatch(refusal)
		if said == nil {
			continue
		}
		limit, _ := strconv.Atoi(said[len(said)-1]) // zero without a limit in the sentence
		learned := d
		if lesson.learn(&learned, limit); learned != d {
			return learned, true
		}
	}
	return d, false
}

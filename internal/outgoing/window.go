package outgoing

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/inquest-dev/inquest/internal/llm"
)

// windows match refusals of requests that are too long. The group window is how many tokens the server accepts, and the group
// prompt how many it has counted; either may be missing.
var windows = []*regexp.Regexp{
	// llama.cpp. https://github.com/ggml-org/llama.cpp/issues/19774
	regexp.MustCompile(`request \((?P<prompt>\d+) tokens\) exceeds the available context size \((?P<window>\d+) tokens\)`),
	// vLLM's older versions, OpenAI, DeepSeek. https://github.com/vllm-project/vllm/issues/20409,
	// https://github.com/evalstate/fast-agent/issues/621
	regexp.MustCompile(`maximum context length is (?P<window>\d+) tokens\. However, ` +
		`(?:you requested \d+ tokens \(|your messages resulted in )(?P<prompt>\d+) (?:in |tokens)`),
	// vLLM's newer versions. https://github.com/vllm-project/vllm/issues/42474
	regexp.MustCompile(`maximum context length is (?P<window>\d+) tokens\.\s+However, you requested \d+ output tokens and your prompt\s+` +
		`contains at\s+least (?P<prompt>\d+) input tokens`),
	// vLLM, about max_tokens (vllm/entrypoints/openai/serving_engine.py).
	regexp.MustCompile(`maximum context length is (?P<window>\d+) tokens and your request has (?P<prompt>\d+) input tokens`),
	// Older and other spellings of these.
	regexp.MustCompile(`(?i)maximum context length (?:is|of) (?P<window>\d+)\b`),
	// SGLang, also inside a stream. https://github.com/QwenLM/Qwen3/issues/1321
	regexp.MustCompile(`input \((?P<prompt>\d+) tokens\) is longer than the model's context length \((?P<window>\d+) tokens\)`),
	regexp.MustCompile(`longer than the model's context length \((?P<window>\d+) tokens\)`),
	// LM Studio, two versions. https://github.com/cline/cline/issues/3664, https://github.com/Gitlawb/openclaude/issues/353
	regexp.MustCompile(`(?:keep the first (?P<prompt>\d+) tokens .*)?context length of only (?P<window>\d+) tokens`),
	regexp.MustCompile(`\(n_keep: (?P<prompt>\d+) ?>= ?n_ctx: (?P<window>\d+)\)`),
	// oMLX. https://github.com/ValueCell-ai/ClawX/issues/658
	regexp.MustCompile(`(?P<prompt>\d+) tokens exceeds max context window of (?P<window>\d+) tokens`),
	// llama-cpp-python. https://github.com/abetlen/llama-cpp-python/issues/416
	regexp.MustCompile(`Requested tokens \((?P<prompt>\d+)\) exceed context window of (?P<window>\d+)`),
	// Groq (413) and OpenAI (429): a request of more tokens than the limit of a minute is never accepted. The number after Requested
	// includes max_tokens, so it is not the size of the prompt.
	// https://github.com/continuedev/continue/issues/10218, https://github.com/vanna-ai/vanna-flask/issues/11
	regexp.MustCompile(`Request too large for .*: Limit (?P<window>\d+), Requested \d+`),
	// Anthropic. https://github.com/anthropics/claude-code/issues/12186
	regexp.MustCompile(`prompt is too long: (?P<prompt>\d+) tokens > (?P<window>\d+) maximum`),
	regexp.MustCompile(`exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)`),
	// Google. https://github.com/google-gemini/gemini-cli/issues/6678
	regexp.MustCompile(`input token count(?: \((?P<prompt>\d+)\))? exceeds the maximum number of tokens allowed \(?(?P<window>\d+)`),
	// xAI. https://github.com/cline/cline/issues/3120
	regexp.MustCompile(`maximum prompt length is (?P<window>\d+) but the request contains (?P<prompt>\d+) tokens`),
	// GitHub: Copilot and Models. https://github.com/jjleng/copilot-more/issues/35, https://github.com/cline/cline/issues/2115
	regexp.MustCompile(`prompt token count of (?P<prompt>\d+) exceeds the limit of (?P<window>\d+)`),
	regexp.MustCompile(`Request body too large for .* model\. Max size: (?P<window>\d+) tokens`),
	// TGI. https://github.com/huggingface/huggingface_hub/issues/2763
	regexp.MustCompile("`inputs` tokens \\+ `max_new_tokens` must be <= (?P<window>\\d+)\\. Given: (?P<prompt>\\d+) `inputs` tokens"),
	// Servers with a max_seq_len. https://github.com/sjzar/chatlog/issues/30
	regexp.MustCompile(`length of prompt_tokens \((?P<prompt>\d+)\) must be less than max_seq_len \((?P<window>\d+)\)`),
	// Moonshot and Cerebras, whose second number may include the reply, and Alibaba. https://github.com/MoonshotAI/kimi-cli/issues/2011,
	// https://github.com/cline/cline/issues/5140, https://github.com/QwenLM/qwen-code/issues/98
	regexp.MustCompile(`exceeded model token limit: (?P<window>\d+)`),
	regexp.MustCompile(`Current length is \d+ while limit is (?P<window>\d+)`),
	regexp.MustCompile(`Range of input length should be \[1, (?P<window>\d+)\]`),
	// Zhipu and Bedrock, without a number. https://github.com/tashfeenahmed/freellmapi/issues/873,
	// https://github.com/aws-samples/bedrock-chat/issues/95
	regexp.MustCompile(`Prompt exceeds max length|Input is too long for requested model`),
	// llama.cpp and MLX, without a number. https://github.com/ggml-org/llama.cpp/issues/19774,
	// https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2339
	regexp.MustCompile(`(?i)context size has been exceeded`),
	// Templates of Qwen's models in Ollama and llama.cpp, after the server has cut the beginning of the prompt: every request has a
	// user's message. https://github.com/ollama/ollama/issues/17778
	regexp.MustCompile(`(?i)no user query found in messages`),
}

// withWindow returns the error of a call. If it says that the request is too long for the model, it has that kind and the number of
// tokens that the server accepts. A refusal because of a key is about the key.
func withWindow(err error) error {
	refused, ok := errors.AsType[*llm.Error](err)
	if !ok || errors.Is(err, llm.ErrAuth) || errors.Is(err, llm.ErrQuotaExhausted) {
		return err
	}
	for _, sentence := range windows {
		said := sentence.FindStringSubmatch(refused.Message)
		if said == nil {
			continue
		}
		refused.Kind, refused.RetryAfter = llm.ErrContextTooLong, 0
		for n, name := range sentence.SubexpNames() {
			tokens, _ := strconv.Atoi(said[n]) // zero without a number
			switch {
			case name == "window" && tokens > 0:
				refused.Window = tokens
			case name == "prompt" && tokens > 0:
				refused.Prompt = tokens
			}
		}
		break
	}
	return err
}

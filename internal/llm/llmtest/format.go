package llmtest

// Wire is a wire format of the server. One script serves all formats.
type Wire int

// The wire formats.
const (
	// OpenAI is chat completions, under Server.URL.
	OpenAI Wire = iota
	// Gemini is generateContent as a stream of events, under Server.GeminiURL.
	Gemini
	// GeminiArray is generateContent as one long JSON array, under the same URL. Only generative-ai-go uses it, which
	// supports neither thinking nor call ids.
	GeminiArray
	// Anthropic is the Messages API, also under Server.GeminiURL.
	Anthropic
	// Responses is OpenAI's Responses API, under Server.URL.
	Responses
)

// format encodes replies in a wire format.
type format interface {
	// chunks returns a reply as the chunks of a stream.
	chunks(r Reply, req Request) []string
	// whole returns a reply in one piece.
	whole(r Reply, req Request) string
	// say returns a chunk with a text.
	say(r Reply, req Request, text string) string
	// refusal returns an error and its HTTP status.
	refusal(f fault) (status int, body string)
	// frame wraps the n-th chunk (from 0) for the stream.
	frame(n int, data string) string
	// end closes a stream of n chunks. finished means that the reply was complete.
	end(n int, finished bool) string
}

func (w Wire) format() format {
	switch w {
	case Gemini:
		return geminiFormat{}
	case GeminiArray:
		return geminiFormat{array: true}
	case Anthropic:
		return anthropicFormat{}
	case Responses:
		return responsesFormat{}
	}
	return openAIFormat{}
}

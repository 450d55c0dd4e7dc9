package llmtest

import (
	"slices"
	"time"
)

// Reply is an answer of the server. Its methods return changed copies, so that replies can be built in one line and
// shared.
type Reply struct {
	thinking, text string
	calls          []Call
	finish, model  string
	signature      string
	usage          *usage
	size           int           // characters per chunk; zero means one chunk
	delay          time.Duration // between chunks
	raw            []string      // chunks to send unchanged
	fault          fault
}

// Call is a tool call that the model requests.
type Call struct {
	ID   string // empty means call_0, call_1, …
	Name string
	Args string // JSON
}

// Text answers with a text.
func Text(text string) Reply { return Reply{text: text} }

// Calls answers with tool calls.
func Calls(calls ...Call) Reply { return Reply{calls: calls} }

// Raw answers with these chunks, each the data of one event, and [DONE].
func Raw(chunks ...string) Reply { return Reply{raw: append([]string{}, chunks...)} }

// Thinking makes the model think before it answers.
func (r Reply) Thinking(text string) Reply {
	r.thinking = text
	return r
}

// Text adds text before the tool calls.
func (r Reply) Text(text string) Reply {
	r.text = text
	return r
}

// Calls adds tool calls.
func (r Reply) Calls(calls ...Call) Reply {
	r.calls = append(slices.Clip(r.calls), calls...)
	return r
}

// Signed adds a signature (base64) of the thinking. Gemini's is on the first call or, without calls, on an empty part
// at the end. Anthropic's is on the thinking block, which exists even if it is empty. OpenAI's wire format has no
// signatures.
func (r Reply) Signed(signature string) Reply {
	r.signature = signature
	return r
}

// Finish sets the finish reason. The default fits the reply.
func (r Reply) Finish(reason string) Reply {
	r.finish = reason
	return r
}

// Model sets the name of the model that answers. The default is the requested one.
func (r Reply) Model(name string) Reply {
	r.model = name
	return r
}

// Usage sets the tokens to report. 0, 0 reports none. The default is a quarter of the characters.
func (r Reply) Usage(input, output int) Reply {
	r.usage = &usage{Prompt: input, Completion: output, Total: input + output}
	return r
}

// Chunked sends the reply in chunks of size characters, delay apart. Thinking, text and each call start a new chunk;
// arguments follow their call.
func (r Reply) Chunked(size int, delay time.Duration) Reply {
	r.size, r.delay = size, delay
	return r
}

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

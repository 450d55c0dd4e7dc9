package gemini

import (
	"errors"
	"io"
	"iter"
	"slices"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

type chunks = iter.Seq2[*genai.GenerateContentResponse, error]

// reply assembles a model's reply.
type reply struct {
	asked   string // the model's name in the request
	tap     *tap
	idle    *llm.Idle
	onDelta func(llm.Delta)

	chunks    int
	content   llm.Text
	thinking  llm.Text
	repeating bool
	parts     []*genai.Part
	finish    string // in Gemini's words
	model     string
	usage     agent.Usage
	sources   []llm.Source
}

// read processes chunks until the reply is complete. It returns an *llm.Error, unless the SDK did not send the request
// at all.
func (r *reply) read(stream chunks) error {
	next, stop := iter.Pull2(stream)
	defer stop()
	for !r.repeating {
		r.idle.Wait()
		chunk, err := pull(next)
		r.idle.Arrived()
		finish, _ := llm.GoogleFinish(r.finish)
		switch {
		case finish != "" && chunk == nil:
			return nil // the reply is complete: an error after it is about something else
		case r.tap.failed != nil && chunk == nil:
			return r.tap.failed
		case r.tap.lost != nil && chunk == nil:
			return r.tap.events.Explain(r.ended(r.tap.lost))
		case errors.Is(err, io.EOF):
			return r.tap.events.Explain(r.ended(err))
		case err != nil:
			return explain(err, r.tap)
		}
		if err := r.chunk(chunk); err != nil {
			return err
		}
	}
	return nil
}

// pull returns the next chunk, and io.EOF after the last. It recovers from the SDK's panics on JSON with another
// structure.
func pull(next func() (*genai.GenerateContentResponse, error, bool)) (chunk *genai.GenerateContentResponse, err error) {
	defer func() {
		if recover() != nil {
			chunk, err = nil, &llm.Error{Kind: llm.ErrMalformed, Message: "the SDK cannot decode a chunk of the response"}
		}
	}()
	chunk, err, ok := next()
	if !ok {
		return nil, io.EOF
	}
	return chunk, err
}

// explain converts an error of the SDK to an *llm.Error, without the chunk, which may hold the model's text.
func explain(err error, tap *tap) error {
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		return known
	case tap.events != nil:
		return &llm.Error{Kind: llm.ErrMalformed, Message: "the response is not an event stream in Gemini's format"}
	}
	return err
}

// ended judges the end of a stream. Only a finish reason makes a reply complete; anything lost after it is at most the
// usage.
func (r *reply) ended(err error) error {
	finish, _ := llm.GoogleFinish(r.finish)
	switch {
	case finish != "":
		return nil
	case errors.Is(err, io.EOF):
		return &llm.Error{Kind: llm.ErrTruncated, Message: "the stream ended without a finish reason"}
	case r.chunks == 0:
		return &llm.Error{Kind: llm.ErrUnavailable, Message: err.Error()}
	}
	return &llm.Error{Kind: llm.ErrTruncated, Message: err.Error()}
}

// chunk processes one chunk.
func (r *reply) chunk(c *genai.GenerateContentResponse) error {
	r.chunks++
	if c.ModelVersion != "" {
		r.model = c.ModelVersion
	}
	if u := c.UsageMetadata; u != nil { // cumulative
		r.usage = agent.Usage{
			InputTokens:     int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
			OutputTokens:    int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
			CacheReadTokens: int(u.CachedContentTokenCount), // part of the prompt's count
			ReasoningTokens: int(u.ThoughtsTokenCount),
		}
		for _, d := range u.PromptTokensDetails {
			if d != nil && d.Modality == genai.MediaModalityImage {
				r.usage.ImageTokens += int(d.TokenCount)
			}
		}
	}
	if f := c.PromptFeedback; f != nil && f.BlockReason != "" && f.BlockReason != genai.BlockedReasonUnspecified {
		return &llm.Error{Kind: llm.ErrContentFiltered, Message: "the prompt was blocked: " + string(f.BlockReason)}
	}
	var said llm.Delta
	if len(c.Candidates) > 0 && c.Candidates[0] != nil {
		said = r.candidate(c.Candidates[0])
	}
	if r.onDelta != nil {
		r.onDelta(said)
	}
	return nil
}

// candidate processes and returns the text of a chunk.
func (r *reply) candidate(c *genai.Candidate) llm.Delta {
	if c.FinishReason != "" {
		r.finish = string(c.FinishReason)
	}
	r.source(c)
	var said llm.Delta
	if c.Content != nil {
		for _, p := range c.Content.Parts {
			part := shown(p)
			said.Content += part.Content
			said.Thinking += part.Thinking
			r.parts = append(r.parts, p)
		}
	}
	stuck := r.content.Add(said.Content)
	r.repeating = r.thinking.Add(said.Thinking) || stuck
	return said
}

// maxSources is the maximum number of source pages of a reply.
const maxSources = 20

// source collects the pages that Gemini has read: search results and fetched pages.
func (r *reply) source(c *genai.Candidate) {
	add := func(title, address string) {
		known := slices.ContainsFunc(r.sources, func(s llm.Source) bool { return s.URL == address })
		if address != "" && !known && len(r.sources) < maxSources {
			r.sources = append(r.sources, llm.Source{Title: title, URL: address})
		}
	}
	if g := c.GroundingMetadata; g != nil {
		for _, chunk := range g.GroundingChunks {
			if chunk != nil && chunk.Web != nil {
				add(chunk.Web.Title, chunk.Web.URI)
			}
		}
	}
	if u := c.URLContextMetadata; u != nil {
		for _, page := range u.URLMetadata {
			if page != nil && page.URLRetrievalStatus == genai.URLRetrievalStatusSuccess {
				add("", page.RetrievedURL)
			}
		}
	}
}

// toolCalls returns the calls, with Gemini's original arguments, because the SDK rounds large numbers.
func (r *reply) toolCalls() []agent.ToolCall {
	out := toolCalls(r.parts)
	for n := range min(len(out), len(r.tap.arguments)) {
		out[n].Arguments = r.tap.arguments[n]
	}
	return out
}

// response returns the reply, or an error if there is none.
func (r *reply) response() (llm.Response, error) {
	resp, err := llm.GoogleReply(llm.Response{
		Content:   r.content.String(),
		Thinking:  r.thinking.String(),
		ToolCalls: r.toolCalls(),
		Model:     r.model,
		Usage:     r.usage,
		Sources:   r.sources,
	}, r.repeating, r.finish, r.tap.ending)
	resp.SignedThinking = slices.ContainsFunc(r.parts, func(p *genai.Part) bool { return p != nil && len(p.ThoughtSignature) > 0 })
	if err == nil && !r.repeating {
		resp.ProviderState = remember(r.asked, join(r.parts))
	}
	return resp, err
}

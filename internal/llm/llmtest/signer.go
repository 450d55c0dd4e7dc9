package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Signer simulates a provider's check of its models' thinking: it signs every reply of a script, and refuses changed
// thinking. On OpenAI's Responses API the signature is the encrypted content.
type Signer struct {
	mu       sync.Mutex
	issued   map[string]string // the thinking, by signature
	returned int
}

// NewSigner returns a signer without signatures.
func NewSigner() *Signer { return &Signer{issued: map[string]string{}} }

// Returned is how often thinking has come back unchanged.
func (s *Signer) Returned() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.returned
}

// Script returns a script whose replies have signed thinking.
func (s *Signer) Script(script Script) Script {
	return func(req Request) Reply {
		if refused := s.check(req); refused != nil {
			return *refused
		}
		reply := script(req)
		if reply.fault.status != 0 {
			return reply
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		n := len(s.issued)
		if reply.thinking == "" {
			reply.thinking = fmt.Sprintf("thought %d: a < b & \"c\"\n", n)
		}
		reply.signature = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "\xff\xfe signed %d", n))
		s.issued[reply.signature] = reply.thinking
		return reply
	}
}

// check returns the provider's error for changed thinking, or nil.
func (s *Signer) check(req Request) *Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch req.Wire {
	case Anthropic:
		return s.checkClaude(req)
	case Responses:
		return s.checkResponses(req)
	case Gemini:
		return s.checkGemini(req)
	}
	return nil
}

// checkClaude returns the error of https://github.com/anthropics/claude-code/issues/10627, or that of
// https://github.com/lbjlaq/Antigravity-Manager/issues/139 if the model has a budget and the current turn lacks its
// thinking. A turn consists of all replies since the last user message, and begins with thinking.
func (s *Signer) checkClaude(req Request) *Reply {
	var in anthropicRequest
	_ = json.Unmarshal(req.Body, &in) // cannot fail: it was parsed before
	for i, turn := range in.Messages {
		for n, b := range turn.Content {
			if b.Type != "thinking" {
				continue
			}
			if thought, known := s.issued[b.Signature]; !known || thought != b.Thinking {
				return invalid("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, n)
			}
			s.returned++
		}
	}
	begins := len(in.Messages) - 2 // the last message is the user's
	for begins > 2 && in.Messages[begins-1].answers() {
		begins -= 2
	}
	if in.Thinking.Type == "enabled" && begins > 0 && in.Messages[len(in.Messages)-1].answers() { // otherwise a turn begins
		if first := in.Messages[begins].Content[0].Type; first != "thinking" && first != "redacted_thinking" {
			return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, "+
				"a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
				begins, first)
		}
	}
	return nil
}

// checkResponses returns the error of https://github.com/smallmain/vscode-unify-chat-provider/issues/178.
func (s *Signer) checkResponses(req Request) *Reply {
	var in struct {
		Input []struct {
			Type, ID  string
			Encrypted string `json:"encrypted_content"`
			Summary   []struct{ Text string }
		}
	}
	_ = json.Unmarshal(req.Body, &in) // cannot fail: it was parsed before
	for _, item := range in.Input {
		if item.Type != "reasoning" {
			continue
		}
		thought, known := s.issued[item.Encrypted]
		if !known || len(item.Summary) != 1 || item.Summary[0].Text != thought {
			refused := Refuse(http.StatusBadRequest, "invalid_encrypted_content", fmt.Sprintf("The encrypted content for item %s could not "+
				"be verified. Reason: Encrypted content could not be decrypted or parsed.", item.ID))
			return &refused
		}
		s.returned++
	}
	return nil
}

// unsigned is what Gemini accepts instead of the signature of a call that it did not make.
const unsigned = "skip_thought_signature_validator"

// checkGemini returns the error of https://github.com/nearai/ironclaw/issues/1510 if a step of the turn begins with an
// unsigned call, or that of https://github.com/heyhuynhgiabuu/proxypal/issues/119. A turn is everything after the last
// user message. A step consists of the calls of one reply, of which only the first is signed.
// https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-23)
func (s *Signer) checkGemini(req Request) *Reply {
	var in geminiRequest
	_ = json.Unmarshal(req.Body, &in) // cannot fail: it was parsed before
	turn := 0
	for i, c := range in.Contents {
		if c.Role == "user" && slices.ContainsFunc(c.Parts, func(p geminiPart) bool { return p.Text != nil }) {
			turn = i
		}
	}
	for i, c := range in.Contents {
		first := slices.IndexFunc(c.Parts, func(p geminiPart) bool { return p.Call != nil })
		for n, p := range c.Parts {
			signature, _ := base64.StdEncoding.DecodeString(p.Signature)
			_, known := s.issued[p.Signature]
			switch {
			case known:
				s.returned++
			case p.Signature != "" && string(signature) != unsigned:
				return invalid("Corrupted thought signature.")
			case p.Signature == "" && n == first && i > turn:
				return invalid("Function call is missing a thought_signature in functionCall parts. This is required for tools to work "+
					"correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "+
					"`default_api:%s` , position %d.", p.Call.Name, i+1)
			}
		}
	}
	return nil
}

func invalid(format string, args ...any) *Reply {
	refused := Refuse(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...))
	return &refused
}

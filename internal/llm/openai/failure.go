package openai

import (
	"bytes"
	"encoding/json"
)

// failure is an error object of the wire format, in any provider's spelling.
type failure struct {
	Message  text `json:"message"`
	Type     text `json:"type"`
	Code     text `json:"code"`
	Status   text `json:"status"` // Google's
	Metadata struct {
		Raw text `json:"raw"` // OpenRouter's: what its own provider said
	} `json:"metadata"`
}

// UnmarshalJSON also reads an error that is only a text.
func (f *failure) UnmarshalJSON(data []byte) error {
	type plain failure
	if json.Unmarshal(data, (*plain)(f)) == nil {
		return nil
	}
	*f = failure{}
	return f.Message.UnmarshalJSON(data)
}

// text reads a JSON string, or whatever else stands in its place as it is
// written: codes are numbers as often as words.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*t = text(s)
	return nil
}

// parseFailure reads the body of a refusal: {"error": …}, a list of one such
// (Google), the bare object (vLLM), {"detail": …} (FastAPI), or any text.
func parseFailure(body []byte) failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  *failure `json:"error"`
		Detail text     `json:"detail"`
	}
	_ = json.Unmarshal(body, &outer) // what is not JSON is a text
	if outer.Error != nil {
		return *outer.Error
	}
	var bare failure
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		_ = json.Unmarshal(body, &bare)
	}
	if bare.Message == "" {
		bare.Message = outer.Detail
	}
	if bare.Message == "" {
		bare.Message = text(body)
	}
	return bare
}

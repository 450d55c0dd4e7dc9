package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// GoogleChunk is a chunk of Gemini's answer, converted for Google's SDKs, which lose a whole reply because of one field
// of another type.
type GoogleChunk struct {
	// JSON holds the fields that are used, with the types that the SDKs expect.
	JSON []byte
	// Arguments are the arguments of the calls in the chunk, in order, with all digits, because the SDKs round numbers.
	Arguments []string
	// Ending is Gemini's message about the finish.
	Ending string
}

// ReadGoogleChunk converts a chunk. A chunk that is not a JSON object is returned unchanged.
func ReadGoogleChunk(data []byte) GoogleChunk {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value map[string]any
	if decoder.Decode(&value) != nil || value == nil {
		return GoogleChunk{JSON: data}
	}
	nameEnums(value)
	var c GoogleChunk
	out := map[string]any{}
	if text, ok := word(value["modelVersion"]); ok {
		out["modelVersion"] = text
	}
	if feedback, ok := value["promptFeedback"].(map[string]any); ok {
		if reason, ok := word(feedback["blockReason"]); ok {
			out["promptFeedback"] = map[string]any{"blockReason": reason}
		}
	}
	if used, ok := value["usageMetadata"].(map[string]any); ok {
		out["usageMetadata"] = googleCounts(used)
	}
	switch candidates := value["candidates"].(type) {
	case nil:
	case map[string]any:
		out["candidates"] = []any{c.candidates([]any{candidates})}
	case []any:
		out["candidates"] = []any{c.candidates(candidates)}
	default:
		out["candidates"] = candidates // not in a form that holds a reply; the SDK reports it
	}
	c.JSON = compact(out)
	return c
}

// candidates returns the chunk's first candidate, with the calls of the others. A request asks for one candidate, so
// any others can only be parts of it.
func (c *GoogleChunk) candidates(all []any) map[string]any {
	out, parts := map[string]any{}, []any{}
	for n, element := range all {
		candidate, _ := element.(map[string]any)
		for _, part := range c.parts(candidate["content"]) {
			if n == 0 || part["functionCall"] != nil {
				parts = append(parts, part)
			}
		}
		if reason, ok := word(candidate["finishReason"]); ok && out["finishReason"] == nil {
			out["finishReason"] = reason
		}
		if message, ok := word(candidate["finishMessage"]); ok && c.Ending == "" {
			c.Ending = message
		}
		if n == 0 {
			out["groundingMetadata"] = map[string]any{"groundingChunks": grounding(candidate)}
			out["urlContextMetadata"] = map[string]any{"urlMetadata": fetched(candidate)}
		}
	}
	out["content"] = map[string]any{"role": "model", "parts": parts}
	return out
}

// parts returns the parts of a content as objects.
func (c *GoogleChunk) parts(content any) (out []map[string]any) {
	if object, ok := content.(map[string]any); ok && object["parts"] != nil {
		content = object["parts"]
	}
	list, ok := content.([]any)
	if !ok && content != nil {
		list = []any{content}
	}
	for _, element := range list {
		part, ok := element.(map[string]any)
		if text, isText := element.(string); isText {
			part, ok = map[string]any{"text": text}, true
		}
		if ok {
			out = append(out, divided(c.part(part))...)
		}
	}
	return out
}

// partData are the fields of which a part has exactly one. https://ai.google.dev/api/caching#Part
var partData = []string{
	"text", "executableCode", "codeExecutionResult", "inlineData", "fileData", "toolCall", "toolResponse", "functionCall", "functionResponse",
}

// divided returns a part for each data field, because gateways combine them. A signature belongs to the call, which Gemini does not
// accept back without it.
func divided(part map[string]any) []map[string]any {
	var fields []string
	for _, field := range partData {
		if value, ok := part[field]; ok && value != "" {
			fields = append(fields, field)
		}
	}
	if len(fields) < 2 {
		return []map[string]any{part}
	}
	out := make([]map[string]any, len(fields))
	for n, field := range fields {
		out[n] = map[string]any{field: part[field]}
		if field == "text" && part["thought"] != nil {
			out[n]["thought"] = part["thought"]
		}
	}
	if signature, ok := part["thoughtSignature"]; ok {
		at := max(slices.Index(fields, "functionCall"), 0)
		out[at]["thoughtSignature"] = signature
	}
	return out
}

// part returns a part with the types that the SDKs expect.
func (c *GoogleChunk) part(part map[string]any) map[string]any {
	out := map[string]any{}
	for field, value := range part {
		switch field {
		case "text":
			if text, ok := word(value); ok {
				out[field] = text
			}
		case "thought":
			text, _ := word(value)
			out[field] = value == true || strings.EqualFold(text, "true")
		case "thoughtSignature":
			text, _ := word(value)
			if signature, ok := DecodeBase64(text); ok {
				out[field] = base64.StdEncoding.EncodeToString(signature)
			}
		case "functionCall":
			if call, ok := value.(map[string]any); ok {
				out[field] = c.call(call)
			}
		default:
			if object, ok := value.(map[string]any); ok {
				out[field] = object
			}
		}
	}
	return out
}

func (c *GoogleChunk) call(call map[string]any) map[string]any {
	out := map[string]any{}
	for _, field := range []string{"id", "name"} {
		if text, ok := word(call[field]); ok {
			out[field] = text
		}
	}
	args := call["args"]
	if text, ok := args.(string); ok {
		args = text
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var object map[string]any
		if decoder.Decode(&object) == nil {
			args = object
		}
	}
	switch v := args.(type) {
	case map[string]any:
		out["args"] = v
		c.Arguments = append(c.Arguments, GoogleArguments(v))
	case nil:
		c.Arguments = append(c.Arguments, "{}")
	default:
		out["args"] = map[string]any{"arguments": v}
		c.Arguments = append(c.Arguments, string(compact(v)))
	}
	return out
}

// DecodeBase64 decodes base64 in the standard or the URL alphabet, with or without padding.
func DecodeBase64(text string) ([]byte, bool) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	data, err := base64.RawStdEncoding.DecodeString(text)
	return data, err == nil
}

// word returns a string, or a number as written.
func word(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// googleCounts returns the usage with whole numbers.
func googleCounts(used map[string]any) map[string]any {
	out := map[string]any{}
	for field, value := range used {
		details, isList := value.([]any)
		switch {
		case strings.HasSuffix(field, "TokenCount"):
			out[field] = googleCount(value)
		case field == "promptTokensDetails" && isList:
			var known []any
			for _, element := range details {
				if detail, ok := element.(map[string]any); ok {
					modality, _ := word(detail["modality"])
					known = append(known, map[string]any{"modality": modality, "tokenCount": googleCount(detail["tokenCount"])})
				}
			}
			out[field] = known
		}
	}
	return out
}

// googleCount decodes a count, which the SDKs hold in 32 bits.
func googleCount(value any) int {
	var count Count
	text, _ := word(value)
	_ = count.UnmarshalJSON([]byte(text)) // never fails
	return int(min(count, 1<<31-1))
}

// grounding returns the pages that a search has found.
func grounding(candidate map[string]any) []any {
	metadata, _ := candidate["groundingMetadata"].(map[string]any)
	return objects(metadata["groundingChunks"], func(chunk map[string]any) any {
		web, _ := chunk["web"].(map[string]any)
		title, _ := word(web["title"])
		uri, _ := word(web["uri"])
		return map[string]any{"web": map[string]any{"title": title, "uri": uri}}
	})
}

// fetched returns the pages that Gemini has read.
func fetched(candidate map[string]any) []any {
	metadata, _ := candidate["urlContextMetadata"].(map[string]any)
	return objects(metadata["urlMetadata"], func(page map[string]any) any {
		url, _ := word(page["retrievedUrl"])
		status, _ := word(page["urlRetrievalStatus"])
		return map[string]any{"retrievedUrl": url, "urlRetrievalStatus": status}
	})
}

// objects maps the objects of a list.
func objects(list any, each func(map[string]any) any) []any {
	elements, _ := list.([]any)
	out := []any{}
	for _, element := range elements {
		if object, ok := element.(map[string]any); ok {
			out = append(out, each(object))
		}
	}
	return out
}

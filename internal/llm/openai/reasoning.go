package openai

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxItemID limits the id of an item, in bytes.
const maxItemID = 64

// reasoningFields are the fields of an item of thinking that the API accepts back.
var reasoningFields = []string{"type", "id", "summary", "content", "encrypted_content", "status"}

// returnable returns an item of thinking as the API accepts it back. Everything that the API accepts stays unchanged; other fields, and
// fields of another form, which gateways send, are left out. It returns nil if the item has no valid id or no encrypted thinking: the
// API refuses it then.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-input (read 2026-11-25)
func returnable(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	id, encrypted := textOf(fields["id"]), textOf(fields["encrypted_content"])
	if !strings.HasPrefix(id, "rs_") || len(id) > maxItemID || encrypted == "" {
		return nil
	}
	changed := false
	for name := range fields {
		if !slices.Contains(reasoningFields, name) {
			delete(fields, name)
			changed = true
		}
	}
	if !texts(fields["summary"], "summary_text") {
		fields["summary"], changed = json.RawMessage("[]"), true // it is required
	}
	if content, ok := fields["content"]; ok && string(content) != "null" && !texts(content, "reasoning_text") {
		delete(fields, "content")
		changed = true
	}
	if status, ok := fields["status"]; ok && string(status) != "null" &&
		!slices.Contains([]string{"in_progress", "completed", "incomplete"}, textOf(status)) {
		delete(fields, "status")
		changed = true
	}
	if !changed {
		return raw
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil // cannot happen: the fields are JSON
	}
	return out
}

// textOf returns a JSON string, or an empty text for any other value.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// texts reports whether a value is a list of texts of a type.
func texts(raw json.RawMessage, kind string) bool {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || parts == nil {
		return false
	}
	return !slices.ContainsFunc(parts, func(part map[string]json.RawMessage) bool {
		var text *string
		_ = json.Unmarshal(part["text"], &text) // anything but a text is none
		return textOf(part["type"]) != kind || text == nil || len(part) != 2
	})
}

// knownPhase returns a phase that the API accepts, or an empty string.
func knownPhase(phase string) string {
	if phase == "commentary" || phase == "final_answer" {
		return phase
	}
	return ""
}

package app

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// mutatedAnswer draws a variant of an answer: events of its stream are lost, repeated and moved, and values of any field
// are replaced, cut or lost.
func mutatedAnswer(t *rapid.T, body []byte) []byte {
	var events []string
	array := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if array {
		var elements []json.RawMessage
		if json.Unmarshal(body, &elements) != nil {
			return body
		}
		for _, element := range elements {
			events = append(events, string(element))
		}
	} else {
		events = strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n")
	}
	for range rapid.IntRange(0, 2).Draw(t, "moves") {
		at := rapid.IntRange(0, len(events)-1).Draw(t, "event")
		to := rapid.IntRange(0, len(events)-1).Draw(t, "place")
		switch rapid.IntRange(0, 2).Draw(t, "move") {
		case 0:
			events[at], events[to] = events[to], events[at]
		case 1:
			events = slices.Insert(events, to, events[at])
		default:
			if len(events) > 1 {
				events = slices.Delete(events, at, at+1)
			}
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		at := rapid.IntRange(0, len(events)-1).Draw(t, "event")
		var lines []string
		for line := range strings.Lines(events[at]) {
			data, isData := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data:")
			switch {
			case isData:
				line = "data: " + mutatedJSON(t, data) + "\n"
			case array || strings.HasPrefix(line, "{"):
				lines = append(lines, mutatedJSON(t, events[at]))
			}
			if array || strings.HasPrefix(line, "{") {
				break
			}
			lines = append(lines, line)
		}
		events[at] = strings.Join(lines, "")
	}
	if array {
		return []byte("[" + strings.Join(events, ",\n") + "]")
	}
	return []byte(strings.Join(events, "\n\n"))
}

// mutatedJSON draws a variant of a JSON text. A text of another kind stays as it is.
func mutatedJSON(t *rapid.T, text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var root any
	if decoder.Decode(&root) != nil {
		return text
	}
	var places []place
	collect(&places, root, func(v any) { root = v })
	if rapid.IntRange(0, 3).Draw(t, "graft") == 0 {
		graft(t, places)
	} else {
		places[rapid.IntRange(0, len(places)-1).Draw(t, "place")].change(t)
	}
	out, _ := json.Marshal(root) // it came from JSON
	return string(out)
}

// grafts are fields that some server has sent, or could send, where another object is: a second content of a part, an answer that
// no call has, thinking without its data, and data that goes back to the server as it is.
var grafts = []string{
	`{"text":"x"}`, `{"text":""}`, `{"thought":true}`, `{"thoughtSignature":"c2ln"}`, `{"thoughtSignature":"!"}`,
	`{"functionCall":{"name":"shell","args":{}}}`, `{"functionCall":{}}`, `{"functionResponse":{"name":"shell","response":{}}}`,
	`{"inlineData":{}}`, `{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`, `{"fileData":{}}`, `{"videoMetadata":{}}`,
	`{"executableCode":{}}`, `{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"codeExecutionResult":{"outcome":"?"}}`,
	`{"toolCall":{}}`, `{"toolResponse":{"id":"a"}}`, `{"partMetadata":{"a":1}}`,
	`{"type":"redacted_thinking","data":""}`, `{"type":"redacted_thinking","data":"ZGF0YQ=="}`, `{"type":"redacted_thinking","data":null}`,
	`{"type":"thinking","signature":""}`, `{"type":"thinking","signature":"c2ln"}`, `{"type":"tool_result"}`, `{"type":"image"}`,
	`{"type":"reasoning","id":"x","encrypted_content":"e"}`, `{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":null}`,
	`{"type":"reasoning","id":17,"encrypted_content":"e","summary":[]}`, `{"id":""}`, `{"id":"rs_1"}`, `{"id":null}`, `{"status":"odd"}`,
	`{"summary":[{"type":"text","text":"x"}]}`, `{"content":[{"type":"reasoning_text"}]}`, `{"encrypted_content":7}`,
	`{"encrypted_content":"e"}`, `{"phase":"odd"}`, `{"phase":"commentary"}`, `{"odd":"field"}`,
	`{"extra_content":7}`, `{"extra_content":{}}`, `{"extra_content":{"google":null}}`, `{"extra_content":{"google":{"thought_signature":7}}}`,
	`{"extra_content":{"google":{"thought_signature":""}}}`, `{"extra_content":{"google":{"thought_signature":"!"}}}`,
	`{"extra_content":{"google":{"thought_signature":"c2ln"}}}`, `{"provider_specific_fields":"x"}`,
	`{"provider_specific_fields":{"thought_signature":"c2ln"}}`, `{"reasoning_content":"t"}`,
	`{"reasoning_details":[{"type":"reasoning.text"}]}`, `{"reasoning_details":[{"type":"odd","text":"t"}]}`,
	`{"reasoning_details":[{"type":"reasoning.text","text":"t","signature":7}]}`,
	`{"reasoning_details":[{"type":"reasoning.encrypted","data":"e"}]}`,
}

// graft adds fields to an object.
func graft(t *rapid.T, places []place) {
	objects := slices.DeleteFunc(places, func(p place) bool { _, ok := p.value.(map[string]any); return !ok })
	if len(objects) == 0 {
		return
	}
	object := objects[rapid.IntRange(0, len(objects)-1).Draw(t, "object")].value.(map[string]any)
	var fields map[string]any
	decoder := json.NewDecoder(strings.NewReader(rapid.SampledFrom(grafts).Draw(t, "fields")))
	decoder.UseNumber()
	_ = decoder.Decode(&fields) // grafts are valid
	maps.Copy(object, fields)
}

// place is where a value stands.
type place struct {
	value   any
	replace func(any)
	remove  func() // nil for the root, and for elements of lists
}

// collect finds the places of a value, in an order that is always the same.
func collect(out *[]place, value any, replace func(any)) {
	*out = append(*out, place{value: value, replace: replace})
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			first := len(*out)
			collect(out, v[key], func(n any) { v[key] = n })
			(*out)[first].remove = func() { delete(v, key) }
		}
	case []any:
		for n := range v {
			collect(out, v[n], func(other any) { v[n] = other })
		}
	}
}

// oddValues stand in the place of others.
var oddValues = []any{nil, "", " ", true, false, json.Number("7"), json.Number("9007199254740993"), json.Number("-1.5"),
	json.Number("1e300"), []any{}, map[string]any{}, []any{nil}, []any{"x"}, map[string]any{"a": nil}, map[string]any{"": ""},
	"x", "NaN", "\u0000", "größe.x",
	"</tool_call>", "null", "[]", `{"q":"x"}`, `{"q":`, `"{\"q\":1}"`, "tool_use", "thinking", "text", "function_call", "stop", "length",
	"shell", "1password get", strings.Repeat("x", 200), strings.Repeat("ab ", 20), "\U0001F600", "functions.get:0"}

func (p place) change(t *rapid.T) {
	switch how := rapid.IntRange(0, 5).Draw(t, "how"); {
	case how == 0 && p.remove != nil:
		p.remove()
	case how == 1:
		p.replace([]any{p.value})
	case how == 2:
		p.replace(map[string]any{"value": p.value, "text": "x"})
	case how == 3:
		if text, ok := p.value.(string); ok {
			runes := []rune(text)
			cut := rapid.IntRange(0, len(runes)).Draw(t, "cut")
			p.replace(string(runes[:cut]) + rapid.SampledFrom([]string{"", "}", "\"", text, "\n", "é"}).Draw(t, "more"))
			return
		}
		if list, ok := p.value.([]any); ok && len(list) > 0 {
			p.replace(append(slices.Clone(list), list[0]))
			return
		}
		fallthrough
	default:
		p.replace(rapid.SampledFrom(oddValues).Draw(t, "odd"))
	}
}

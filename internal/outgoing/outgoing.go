// Package outgoing rewrites requests so that the servers of models accept them. A strict server refuses a whole request
// because of one schema, name, argument or empty turn, and the output of models and MCP servers is repeated in every
// later request. So every driver sends the result of Request: the strictest form that the known servers share or, where
// their rules differ, the form for the server's dialect.
//
// The package does not change checks or records: calls are validated against the original schemas, and the transcript
// keeps the model's text.
package outgoing

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// Request returns the request in a form that a server with the dialect accepts. A request with calls in its messages
// has tools or withheld tools. Tools that the dialect cannot express are left out; Tools says which.
func Request(req llm.Request, d agent.Dialect) llm.Request {
	req.Tools, _ = Tools(req.Tools, d)
	req.Withheld, _ = Tools(req.Withheld, d)
	req.Messages = messages(req.Messages, d.Alternates)
	if d.MaxTokens > 0 {
		req.MaxTokens = min(req.MaxTokens, d.MaxTokens)
	}
	if len(req.Tools)+len(req.Withheld) == 0 {
		req.Withheld = called(req.Messages)
	}
	if d.RefusesNone && len(req.Tools) == 0 {
		req.Tools, req.Withheld = req.Withheld, nil
	}
	if len(req.Tools)+len(req.Withheld) > 0 && d.PlainBesideTools && len(req.Schema) == 0 {
		req.JSON = false
	}
	if len(req.Schema) > 0 && d.RefusesSchema {
		req.Messages = withSchema(req.Messages, req.Schema)
		req.JSON, req.Schema = false, nil
	}
	if d.RefusesTemperature {
		req.Temperature = nil
	}
	req.Thoughts = d.WantsThoughts
	if d.RefusesThinking {
		req.Thinking, req.Unthinking = agent.Thinking{}, true
	}
	return req
}

// withSchema adds the reply's schema to the system message.
func withSchema(in []agent.Message, schema json.RawMessage) []agent.Message {
	said := "Reply with a JSON object and nothing else. The object must match this JSON schema:\n" + string(schema)
	out := slices.Clone(in)
	if len(out) > 0 && out[0].Role == agent.System {
		out[0].Content += "\n\n" + said
		return out
	}
	return slices.Insert(out, 0, agent.Message{Role: agent.System, Content: said})
}

// called declares the tools that messages call, for servers that refuse calls in a request without tools: "The
// toolConfig field must be defined when using toolUse and toolResult content blocks." (Bedrock)
func called(messages []agent.Message) (out []llm.Tool) {
	known := map[string]bool{}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if !known[call.Name] {
				known[call.Name] = true
				out = append(out, llm.Tool{Name: call.Name, Description: "No longer available.", Schema: json.RawMessage(noArguments)})
			}
		}
	}
	return out
}

const noArguments = `{"type":"object","properties":{}}`

// Tools returns the tools in a form that a server with the dialect accepts, and those that it would refuse.
func Tools(tools []llm.Tool, d agent.Dialect) (kept []llm.Tool, left []llm.Omission) {
	known := map[string]string{} // the names that tools have here, by those in the request
	for _, t := range tools {
		name := Name(t.Name)
		schema, notes, err := Schema(t.Schema, d.Schemas)
		switch {
		case err != nil:
			left = append(left, llm.Omission{Tool: t.Name, Why: err.Error()})
			continue
		case known[name] != "":
			left = append(left, llm.Omission{Tool: t.Name, Why: "another tool has the same name"})
			continue
		}
		known[name] = t.Name
		said := strings.TrimSpace(strings.Join(append([]string{t.Description}, notes...), "\n"))
		said, schema = fitted(strings.ToValidUTF8(said, "\uFFFD"), schema, d.MaxDescription)
		kept = append(kept, llm.Tool{Name: name, Description: said, Schema: schema, Found: t.Found})
	}
	kept, surplus := capped(kept, d.MaxTools)
	for _, t := range surplus {
		left = append(left, llm.Omission{Tool: known[t.Name], Limit: true, Why: fmt.Sprintf("the provider accepts at most %d tools", d.MaxTools)})
	}
	return kept, left
}

// capped leaves out tools until a server that accepts limit tools accepts the rest; zero means any number. The tools that the model
// found earliest go first, and then the last ones. The others keep their order.
func capped(tools []llm.Tool, limit int) (kept, left []llm.Tool) {
	surplus := len(tools) - limit
	if limit <= 0 || surplus <= 0 {
		return tools, nil
	}
	order := make([]int, len(tools)) // of leaving out
	for n := range order {
		order[n] = len(order) - 1 - n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(cmp.Or(tools[a].Found, math.MaxInt), cmp.Or(tools[b].Found, math.MaxInt))
	})
	out := map[int]bool{}
	for _, n := range order[:surplus] {
		out[n] = true
	}
	for n, t := range tools {
		if out[n] {
			left = append(left, t)
		} else {
			kept = append(kept, t)
		}
	}
	return kept, left
}

// fitted moves the end of a long description into the schema, whose texts have no limit.
func fitted(said string, schema json.RawMessage, limit int) (string, json.RawMessage) {
	runes := []rune(said)
	if limit <= 0 || len(runes) <= limit {
		return said, schema
	}
	cut := limit
	for cut > limit/2 && runes[cut] != ' ' && runes[cut] != '\n' {
		cut--
	}
	rest, _ := json.Marshal("(continues the description of the tool) " + strings.TrimSpace(string(runes[cut:])))
	return strings.TrimSpace(string(runes[:cut])), fmt.Appendf(nil, `{"description":%s,%s`, rest, schema[1:])
}

var (
	// propertyKey matches the names of arguments that Anthropic and Bedrock accept: "Property keys should match pattern".
	propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// googleKey matches the names that Google documents.
	// https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration
	googleKey = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	// notInNames matches characters that no server accepts in the name of a tool.
	notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	nine       = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
)

const (
	maxName = 64
	unnamed = "unnamed"
)

// Name returns the name of a tool in a form that all servers accept: at most 64 letters, digits, underscores and
// dashes, without a leading digit or dash, which Google refuses. A call without a name gets one.
func Name(name string) string {
	name = notInNames.ReplaceAllString(name, "_")
	if name == "" {
		return unnamed
	}
	if strings.ContainsAny(name[:1], "0123456789-") {
		name = "_" + name
	}
	return name[:min(len(name), maxName)]
}

// SameTool reports whether two names in calls mean the same tool: one as a model wrote it, and the other from the
// transcript, rewritten by Name, which turns dots into underscores and cuts long names.
func SameTool(written, kept string) bool {
	short := func(name string) string {
		name = strings.ToLower(notInWords.ReplaceAllString(Name(name), ""))
		return name[:min(len(name), sameUpTo)]
	}
	return short(written) == short(kept)
}

// notInWords matches the replacement characters of Name and tool.WireName.
var notInWords = regexp.MustCompile(`[_-]`)

// sameUpTo is how much of long names is compared, because their ends are hashes.
const sameUpTo = 32

// IDs are the ids of the calls of one request, as the provider sees them.
type IDs map[string]bool

// Add returns the id of a call: the provider's own id, unless another call of the request has it, and otherwise ours.
func (ids IDs) Add(theirs, ours string) string {
	id := theirs
	if id == "" || ids[id] {
		id = ours
	}
	for n := 2; ids[id]; n++ {
		id = fmt.Sprint(ours, "_", n)
	}
	ids[id] = true
	return id
}

// callID returns the id of a call in the form that Mistral's servers require and all others accept: "must be a-z, A-Z,
// 0-9, with a length of 9". Ids of ours stay readable.
func callID(id string) string {
	if nine.MatchString(id) {
		return id
	}
	var iteration, n int
	if _, err := fmt.Sscanf(id, "c%d_%d", &iteration, &n); err == nil && fmt.Sprintf("c%d_%d", iteration, n) == id {
		if readable := fmt.Sprintf("c%05dx%02d", iteration, n); nine.MatchString(readable) {
			return readable
		}
	}
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:9]
}

// Arguments returns the arguments of a call as a JSON object, which many servers require. Arguments that are neither an
// object nor empty are kept as a string.
func Arguments(written string) string {
	object, ok := agent.ArgumentsObject(written)
	if !ok || deep(object) {
		return text(part{"raw": strings.ToValidUTF8(written, "\uFFFD")})
	}
	if halfPair.MatchString(object) { // decoding replaces it
		if value, err := decode(object); err == nil {
			return text(value)
		}
	}
	return object
}

// halfPair matches escapes of UTF-16 surrogates. Half a pair is valid JSON but not valid text; Python's and Anthropic's
// parsers refuse it.
var halfPair = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// maxDepth is the maximum nesting of objects and arrays: Google's messages have 100 levels, and use three for each
// level of JSON.
const maxDepth = 30

func deep(object string) bool {
	depth := 0
	decoder := json.NewDecoder(strings.NewReader(object))
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return true
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

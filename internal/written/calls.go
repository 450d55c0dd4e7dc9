package written

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// marks begin a call, or a list of calls, in the notations of known models.
var marks = append([]string{
	"<function=",                        // Qwen Coder, Llama 3.1
	"<function_calls>", "<invoke name=", // Claude's notation
	"functools[", // Phi
	"Action:",    // ReAct
}, tokenMarks...)

// tokenMarks are the marks that are tokens, or begin with one, in the vocabulary of a model.
var tokenMarks = []string{
	"<tool_call>", "<tool_calls>", // Hermes, Qwen, GLM, Granite, Jamba
	"<minimax:tool_call>",
	"<｜DSML｜",                                             // DeepSeek 3.2
	"[TOOL_CALLS]",                                        // Mistral
	"<|python_tag|>",                                      // Llama 3
	"<|tool_call|>",                                       // Granite, Phi 4
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", // Kimi K2
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", // DeepSeek V3
	"<|channel|>commentary", "<|start|>assistant", "<|channel|>analysis to=", // gpt-oss
	"<|START_ACTION|>",    // Command R
	"<|action_start|>",    // InternLM
	"<|tool_call_start|>", // LFM 2
}

// fillers are marks around or after calls that have no meaning.
var fillers = []string{
	"<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>",
	"<minimax:tool_call>", "</minimax:tool_call>", "[TOOL_CALLS]", "[/TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "<|/tool_call|>",
	"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_end|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "<｜end▁of▁sentence｜>",
	"<|START_ACTION|>", "<|END_ACTION|>", "<|action_start|>", "<|plugin|>", "<|action_end|>", "<|tool_call_start|>",
	"functools", "<|call|>", "<|end|>", "<|return|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "</s>", ";",
}

// invented are the beginnings of made-up results. A reply may end with such a result after its call.
var invented = []string{
	"<tool_response>", "<|observation|>", "<|im_start|>", "<|start_header_id|>", "<|user|>", "<｜tool▁outputs▁begin｜>",
	"[TOOL_RESULTS]", "Observation:",
}

// maxTries limits how many marks of a text are tried.
const maxTries = 20

// calls finds the calls that a text is, or ends with, and the text before them. If the calls are a quotation, the text
// stays whole.
func (o Offer) calls(text string, marks []string) (before string, calls []agent.ToolCall, quoted []string) {
	if len(o.Tools) == 0 {
		return text, nil, nil
	}
	if p := o.whole(strings.TrimSpace(text)); p != nil {
		return o.judged(text, "", p)
	}
	var here place
	for at, tries := 0, 0; tries < maxTries; {
		indent := len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
		here.read(text[at : at+indent])
		at += indent
		if startsWith(text[at:], marks) && here.mayBegin() {
			tries++
			p, ok := o.parse(text[at:])
			if ok {
				return o.judged(text, strings.TrimRight(text[:at], " \t\r\n"), p)
			}
			done := max(len(text)-len(p.rest), at) // earlier marks give the same result
			here.read(text[at:done])
			at = done
		}
		end := strings.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			break
		}
		here.read(text[at : at+end])
		at += end
	}
	return text, nil, nil
}

// judged returns the calls that were read from a text, unless they are a quotation.
func (o Offer) judged(text, before string, p *parser) (_ string, calls []agent.ToolCall, quoted []string) {
	if !o.quoted(p.steps, !p.strict) {
		return before, numbered(p.calls), nil
	}
	for _, call := range p.calls {
		if !slices.Contains(quoted, call.Name) {
			quoted = append(quoted, call.Name)
		}
	}
	return text, nil, quoted
}

func startsWith(text string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(text, mark) })
}

// mayBegin reports whether a mark here may begin a call: it begins a line, is not in code, and no line before it
// announces an example.
func (p *place) mayBegin() bool { return p.startsLine() && !p.inCode() && !p.explained() }

// whole reads a text that is nothing but calls: in JSON, in Python's spelling, or in a fenced block. It returns nil for
// every other text.
func (o Offer) whole(text string) *parser {
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		_, inner, _ = strings.Cut(inner, "\n") // the language
		inner, ok = strings.CutSuffix(strings.TrimSpace(inner), "```")
		if !ok || strings.Contains(inner, "```") {
			return nil
		}
		text = strings.TrimSpace(inner)
		if startsWith(text, marks) {
			p, ok := o.parse(text)
			if !ok {
				return nil
			}
			return p
		}
	}
	if o.JSON || text == "" {
		return nil
	}
	p := &parser{offer: o, rest: text, strict: true}
	for p.rest != "" {
		from := p.rest
		if !p.jsonCalls() && !p.pythonCalls() {
			return nil
		}
		p.step(from)
		p.rest = strings.TrimLeft(p.rest, "; \t\r\n")
	}
	return p
}

// parse reads a text that begins with a mark. It reports whether the text has nothing but calls, up to its end; otherwise
// the rest of the parser is from where it has something else.
func (o Offer) parse(text string) (p *parser, ok bool) {
	p = &parser{offer: o, rest: strings.ReplaceAll(text, "｜DSML｜", "")}
	for {
		from := p.fillers()
		bare := p.rest
		switch {
		case len(p.calls) > 0 && (p.rest == "" || slices.Contains(invented, strings.TrimSpace(p.rest))):
			return p, true
		case p.tagged():
			p.step(bare)
		case p.marked && (p.jsonCalls() || p.namedCall() || p.pythonCalls()):
			p.step(from)
		default:
			return p, false
		}
	}
}

// parser reads calls one after the other.
type parser struct {
	offer  Offer
	rest   string
	marked bool // a filler that announces calls has been read
	strict bool // no mark announces calls: they have exactly the spelling of a call
	calls  []agent.ToolCall
	steps  []string // the calls as written, with the marks before them
	types  map[string]map[string]string
}

// step records the text that was just read.
func (p *parser) step(from string) {
	p.steps = append(p.steps, from[:len(from)-len(p.rest)])
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// fillers skips marks that contain no call. It returns the rest of the text from the last mark that begins a call.
func (p *parser) fillers() (from string) {
	p.space()
	from = p.rest
	for repeat := true; repeat; {
		repeat = false
		for _, filler := range fillers {
			if rest, ok := strings.CutPrefix(p.rest, filler); ok {
				if slices.Contains(marks, filler) {
					from = p.rest
				}
				p.rest, p.marked, repeat = rest, true, true
				p.space()
				if !startsWith(from, marks) {
					from = p.rest
				}
			}
		}
	}
	return from
}

// take adds a call of an offered tool. args is a JSON object, or empty.
func (p *parser) take(name string, args json.RawMessage) bool {
	exact := slices.ContainsFunc(p.offer.Tools, func(t Tool) bool { return t.Name == name })
	name, ok := p.offer.named(name)
	text := strings.TrimSpace(string(args))
	var inner string
	if json.Unmarshal(args, &inner) == nil { // an object that was encoded twice, or null
		text = strings.TrimSpace(inner)
	}
	if text == "" {
		text = "{}"
	}
	if !ok || p.strict && !exact || text[0] != '{' || !json.Valid([]byte(text)) {
		return false
	}
	p.calls = append(p.calls, agent.ToolCall{Name: name, Arguments: text})
	return true
}

// indexed matches the index that Kimi writes after a name.
var indexed = regexp.MustCompile(`:\d+$`)

// named returns the offered tool that a model means by a name. The tools of a server are offered as server__tool. In
// text, models also write server.tool or only the tool's name.
func (o Offer) named(name string) (string, bool) {
	name = strings.TrimSpace(name)
	bare := strings.TrimPrefix(indexed.ReplaceAllString(name, ""), "functions.")
	for _, spelling := range []string{name, bare, strings.Replace(bare, ".", ofServer, 1)} {
		if slices.ContainsFunc(o.Tools, func(t Tool) bool { return t.Name == spelling }) {
			return spelling, true
		}
	}
	found := ""
	for _, t := range o.Tools {
		_, own, ok := strings.Cut(t.Name, ofServer)
		switch {
		case !ok || own != bare:
		case found != "": // two servers have such a tool
			return "", false
		default:
			found = t.Name
		}
	}
	return found, found != ""
}

// ofServer separates the names of a server and its tool.
const ofServer = "__"

// value reads one JSON value.
func (p *parser) value() (json.RawMessage, bool) {
	p.space()
	if !strings.HasPrefix(p.rest, "{") && !strings.HasPrefix(p.rest, "[") && !strings.HasPrefix(p.rest, `"`) {
		return nil, false
	}
	var value json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(p.rest))
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	p.rest = p.rest[decoder.InputOffset():]
	return value, true
}

// jsonCalls reads a call, or a list of calls, in JSON.
func (p *parser) jsonCalls() bool {
	before := *p
	value, ok := p.value()
	if ok && p.jsonCall(value, 0) {
		return true
	}
	*p = before
	return false
}

// The fields of a call in JSON. A call without a mark may only have the first two names, because other objects, such as
// a recommendation, also have an action and its input.
var (
	nameFields = []string{"name", "function", "tool", "tool_name", "function_name", "action", "recipient_name"}
	argFields  = []string{"arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "kwargs"}
	idFields   = []string{"id", "type", "tool_call_id", "call_id", "index"}
)

const strictFields = 2

// maxDepth is the maximum nesting of a call in lists and objects: {"tool_calls":[{"function":{…}}]}.
const maxDepth = 4

func (p *parser) jsonCall(value json.RawMessage, depth int) bool {
	var list []json.RawMessage
	if depth > maxDepth {
		return false
	}
	if json.Unmarshal(value, &list) == nil {
		for _, element := range list {
			if !p.jsonCall(element, depth+1) {
				return false
			}
		}
		return len(list) > 0
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil {
		return false
	}
	if calls, ok := object["tool_calls"]; ok && len(object) == 1 {
		return p.jsonCall(calls, depth+1)
	}
	names, arguments := nameFields, argFields
	if p.strict {
		names, arguments = names[:strictFields], arguments[:strictFields]
		if kind, typed := object["type"]; typed && string(kind) != `"function"` {
			return false
		}
	}
	if inner := object["function"]; bytes.HasPrefix(inner, []byte("{")) {
		for field := range object {
			if p.strict && field != "function" && !slices.Contains(idFields, field) {
				return false
			}
		}
		var function map[string]json.RawMessage
		_ = json.Unmarshal(inner, &function)
		_, named := p.offer.nameIn(names, function, object)
		return named && p.jsonCall(inner, depth+1)
	}
	name, named := p.offer.nameIn(names, object)
	var args json.RawMessage
	fields, given := 1, 0 // 1: the name
	for _, field := range arguments {
		if value, ok := object[field]; ok {
			args, given = value, given+1
		}
	}
	for _, field := range idFields {
		if _, ok := object[field]; ok {
			fields++
		}
	}
	if given > 1 || p.strict && (given == 0 || fields+given != len(object)) {
		return false
	}
	return named && p.take(name, args)
}

// nameIn returns the name in the first of the fields that has one, of the first object. ok is false if no field has a name,
// or if a later one names another offered tool, because the model may mean either.
func (o Offer) nameIn(fields []string, objects ...map[string]json.RawMessage) (name string, ok bool) {
	first := ""
	for _, object := range objects {
		for _, field := range fields {
			var text string
			if json.Unmarshal(object[field], &text) != nil || text == "" {
				continue
			}
			if name == "" {
				name = text
				first, _ = o.named(name)
			} else if other, offered := o.named(text); offered && other != first {
				return "", false
			}
		}
	}
	return name, name != ""
}

// namedNext matches a name before its arguments: Mistral's, GLM's.
var namedNext = regexp.MustCompile(`^([\w.:-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*`)

// namedCall reads a name, and arguments in JSON or between tags.
func (p *parser) namedCall() bool {
	m := namedNext.FindStringSubmatch(p.rest)
	if m == nil {
		return false
	}
	before := *p
	p.rest = p.rest[len(m[0]):]
	if strings.HasPrefix(p.rest, "<arg_key>") || strings.HasPrefix(p.rest, "</tool_call>") {
		args, ok := p.parameters(m[1], glmParameter, "</tool_call>")
		if ok && p.take(m[1], args) {
			return true
		}
	} else if args, ok := p.value(); ok && p.take(m[1], args) {
		return true
	}
	*p = before
	return false
}

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
var marks = []string{
	"<tool_call>", "<tool_calls>", // Hermes, Qwen, GLM, Granite, Jamba
	"<function=",                                               // Qwen Coder, Llama 3.1
	"<function_calls>", "<invoke name=", "<minimax:tool_call>", // Claude's notation, MiniMax
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
	"functools[",          // Phi
	"Action:",             // ReAct
}

// fillers stand around calls, or after them, and say nothing.
var fillers = []string{
	"<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>",
	"<minimax:tool_call>", "</minimax:tool_call>", "[TOOL_CALLS]", "[/TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "<|/tool_call|>",
	"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_end|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "<｜end▁of▁sentence｜>",
	"<|START_ACTION|>", "<|END_ACTION|>", "<|action_start|>", "<|plugin|>", "<|action_end|>", "<|tool_call_start|>",
	"functools", "<|call|>", "<|end|>", "<|return|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "</s>", ";",
}

// invented begin what a model makes up for the answer of its call: the real one takes its place.
var invented = []string{
	"<tool_response>", "<|observation|>", "<|im_start|>", "<|start_header_id|>", "<|user|>", "<｜tool▁outputs▁begin｜>",
	"[TOOL_RESULTS]", "Observation:",
}

// maxTries bounds at how many places of a text calls are looked for.
const maxTries = 20

// calls finds the calls that a text is, or ends with, and what stands before them.
func (o Offer) calls(text string) (before string, calls []agent.ToolCall) {
	if len(o.Tools) == 0 {
		return text, nil
	}
	if calls := o.whole(strings.TrimSpace(text)); len(calls) > 0 {
		return "", calls
	}
	for at, tries := 0, 0; tries < maxTries; tries++ {
		next := nextMark(text[at:])
		if next < 0 {
			break
		}
		at += next
		if mayBegin(text, at) {
			if calls := o.parse(text[at:]); len(calls) > 0 {
				return strings.TrimRight(text[:at], " \t\r\n"), calls
			}
		}
		at++
	}
	return text, nil
}

// nextMark is where the first mark of a text stands, -1 if there is none.
func nextMark(text string) int { return firstOf(text, marks) }

func firstOf(text string, marks []string) int {
	first := -1
	for _, mark := range marks {
		if at := strings.Index(text, mark); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// explains matches a line after which a model shows what a call looks like.
var explains = regexp.MustCompile(`(?i)\b(?:examples?|format|syntax|notation|template|tags?|looks? like|like this|e\.g\.|` +
	`would write|you write)\b[^\n]*:$`)

// mayBegin reports whether a mark may begin a call. Marks that people can type must begin a line or follow
// a sentence; those that are tokens of the model's own need not. None counts in code, or after words that
// announce an example.
func mayBegin(text string, at int) bool {
	if inCode(text, at) {
		return false
	}
	before := strings.TrimRight(text[:at], " \t")
	told := strings.TrimSpace(before)
	if explains.MatchString(told[strings.LastIndexByte(told, '\n')+1:]) {
		return false
	}
	if before == "" || strings.HasSuffix(before, "\n") {
		return true
	}
	token := strings.HasPrefix(text[at:], "<|") || strings.HasPrefix(text[at:], "<｜") || strings.HasPrefix(text[at:], "[TOOL_CALLS]")
	return token || strings.ContainsAny(before[len(before)-1:], ".!?") && !strings.HasPrefix(text[at:], "Action:")
}

// whole reads a text that is nothing but calls: in JSON, in Python's spelling, or in a fenced block.
func (o Offer) whole(text string) []agent.ToolCall {
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		_, inner, _ = strings.Cut(inner, "\n") // the language
		inner, ok = strings.CutSuffix(strings.TrimSpace(inner), "```")
		if !ok || strings.Contains(inner, "```") {
			return nil
		}
		text = strings.TrimSpace(inner)
		if nextMark(text) == 0 {
			return o.parse(text)
		}
	}
	if o.JSON || text == "" {
		return nil
	}
	p := parser{offer: o, rest: text, strict: true}
	for ; p.rest != ""; p.rest = strings.TrimLeft(p.rest, "; \t\r\n") {
		if !p.jsonCalls() && !p.pythonCalls() {
			return nil
		}
	}
	return p.calls
}

// parse reads a text that begins with a mark and has nothing but calls, up to its end.
func (o Offer) parse(text string) []agent.ToolCall {
	p := parser{offer: o, rest: strings.ReplaceAll(text, "｜DSML｜", "")}
	for {
		p.fillers()
		invents := slices.ContainsFunc(invented, func(mark string) bool { return strings.HasPrefix(p.rest, mark) })
		switch {
		case p.rest == "", invents && len(p.calls) > 0:
			return p.calls
		case p.tagged(), p.marked && (p.jsonCalls() || p.namedCall() || p.pythonCalls()):
		default:
			return nil
		}
	}
}

// parser reads calls one after the other.
type parser struct {
	offer  Offer
	rest   string
	marked bool // a filler that announces calls has been read
	strict bool // a call in JSON has the fields of a call and no others
	calls  []agent.ToolCall
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// fillers skips what says nothing.
func (p *parser) fillers() {
	for again := true; again; {
		p.space()
		again = false
		for _, filler := range fillers {
			if rest, ok := strings.CutPrefix(p.rest, filler); ok {
				p.rest, p.marked, again = rest, true, true
			}
		}
	}
}

// take adds a call of an offered tool. args is JSON of an object, or empty.
func (p *parser) take(name string, args json.RawMessage) bool {
	name, ok := p.offer.named(name)
	text := strings.TrimSpace(string(args))
	var inner string
	if json.Unmarshal(args, &inner) == nil { // an object that was encoded twice, or null
		text = strings.TrimSpace(inner)
	}
	if text == "" {
		text = "{}"
	}
	if !ok || text[0] != '{' || !json.Valid([]byte(text)) {
		return false
	}
	p.calls = append(p.calls, agent.ToolCall{Name: name, Arguments: text})
	return true
}

// indexed matches what Kimi writes after a name.
var indexed = regexp.MustCompile(`:\d+$`)

// named is the offered tool that a model means by a name. The tools of a server are offered as
// server__tool; in their text, models also write server.tool, or the tool alone.
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

// ofServer stands between the names of a server and its tool.
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

// The fields that a call has in JSON.
var (
	nameFields = []string{"name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"}
	argFields  = []string{"arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "kwargs"}
	idFields   = []string{"id", "type", "tool_call_id", "call_id", "index"}
)

// maxDepth is how deep a call stands in lists and objects: {"tool_calls":[{"function":{…}}]}.
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
	if inner := object["function"]; bytes.HasPrefix(inner, []byte("{")) {
		return p.jsonCall(inner, depth+1)
	}
	var name string
	var args json.RawMessage
	given := false
	for field, value := range object {
		switch {
		case slices.Contains(argFields, field):
			if given {
				return false
			}
			args, given = value, true
		case slices.Contains(nameFields, field) && name == "" && json.Unmarshal(value, &name) == nil:
		case p.strict && !slices.Contains(idFields, field):
			return false
		}
	}
	return (given || !p.strict) && p.take(name, args)
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

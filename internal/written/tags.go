package written

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

var (
	functionTag = regexp.MustCompile(`^<function=["']?([\w.:-]+)["']?>\s*`)
	invokeTag   = regexp.MustCompile(`^<invoke name=["']([\w.:-]+)["']>\s*`)
	kimiCall    = regexp.MustCompile(`^<\|tool_call_begin\|>\s*([\w.:-]+)\s*<\|tool_call_argument_begin\|>`)
	deepSeek    = regexp.MustCompile("^<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([\\w.:-]+)(?:<｜tool▁sep｜>)?\\s*(?:```json)?")
	harmonyCall = regexp.MustCompile(`^(?:<\|start\|>assistant)?\s*(?:to=([\w.:-]+)\s*)?<\|channel\|>(?:commentary|analysis)\s*` +
		`(?:to=([\w.:-]+))?\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*<\|message\|>`)
	reactCall = regexp.MustCompile(`^Action:[ \t]*([\w.:-]+)[ \t]*\r?\n\s*Action Input:`)

	functionParameter = regexp.MustCompile(`(?s)^<parameter=["']?([^>"']+)["']?>(.*?)</parameter>\s*`)
	invokeParameter   = regexp.MustCompile(`(?s)^<parameter name=["']([^>"']+)["'](?: string="(?:true|false)")?>(.*?)</parameter>\s*`)
	glmParameter      = regexp.MustCompile(`(?s)^<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*`)
)

// tagged reads a call whose mark contains its name.
func (p *parser) tagged() bool {
	before := *p
	for _, tag := range []struct {
		open, parameter *regexp.Regexp
		end             string
	}{{functionTag, functionParameter, "</function>"}, {invokeTag, invokeParameter, "</invoke>"}} {
		m := tag.open.FindStringSubmatch(p.rest)
		if m == nil {
			continue
		}
		p.rest = p.rest[len(m[0]):]
		args, ok := p.value()
		if ok {
			p.space()
			p.rest = strings.TrimPrefix(p.rest, tag.end)
		} else {
			args, ok = p.parameters(m[1], tag.parameter, tag.end)
		}
		if ok && p.take(m[1], args) {
			p.marked = true
			return true
		}
		*p = before
		return false
	}
	for _, open := range []*regexp.Regexp{kimiCall, deepSeek, harmonyCall, reactCall} {
		m := open.FindStringSubmatch(p.rest)
		if m == nil {
			continue
		}
		p.rest = p.rest[len(m[0]):]
		args, ok := p.value()
		if ok && p.take(strings.Join(m[1:], ""), args) {
			p.space()
			p.rest = strings.TrimPrefix(p.rest, "```")
			return true
		}
		break
	}
	*p = before
	return false
}

// parameters reads the arguments of a tool between tags, up to the tag that ends the call.
func (p *parser) parameters(tool string, parameter *regexp.Regexp, end string) (json.RawMessage, bool) {
	types := p.typesOf(tool)
	args := map[string]json.RawMessage{}
	for {
		m := parameter.FindStringSubmatch(p.rest)
		if m == nil {
			break
		}
		p.rest = p.rest[len(m[0]):]
		name := strings.TrimSpace(m[1])
		args[name] = typed(m[2], types[name])
	}
	rest, ok := strings.CutPrefix(p.rest, end)
	if !ok {
		return nil, false
	}
	p.rest = rest
	return asJSON(args)
}

// asJSON encodes a value without HTML escapes.
func asJSON(value any) (json.RawMessage, bool) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err == nil
}

// typesOf returns the types of a tool's arguments by name. It parses each schema once.
func (p *parser) typesOf(name string) map[string]string {
	if p.types == nil {
		p.types = map[string]map[string]string{}
	}
	if p.types[name] == nil {
		p.types[name] = p.offer.types(name)
	}
	return p.types[name]
}

// types returns the types of a tool's arguments by name.
func (o Offer) types(name string) map[string]string {
	out := map[string]string{}
	name, _ = o.named(name)
	for _, t := range o.Tools {
		var schema struct {
			Properties map[string]struct {
				Type json.RawMessage `json:"type"`
			} `json:"properties"`
		}
		if t.Name == name && json.Unmarshal(t.Schema, &schema) == nil {
			for field, property := range schema.Properties {
				out[field] = string(property.Type)
			}
		}
	}
	return out
}

// typed converts an argument between tags to JSON. Tags have no type, so the schema decides, or else the argument's
// form.
func typed(text, kind string) json.RawMessage {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	trimmed := strings.TrimSpace(text)
	if kind == `"string"` || !json.Valid([]byte(trimmed)) {
		plain, _ := asJSON(text) // cannot fail for a string
		return plain
	}
	return json.RawMessage(trimmed)
}

package written

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
)

// pythonCalls reads a list of calls in Python's spelling, [f(a="x", n=1), …], as Llama 4 and LFM write them.
func (p *parser) pythonCalls() bool {
	before := *p
	rest, ok := strings.CutPrefix(p.rest, "[")
	p.rest = rest
	for ok {
		p.space()
		m := pythonName.FindStringSubmatch(p.rest)
		if m == nil {
			break
		}
		p.rest = p.rest[len(m[0]):]
		args, whole := p.pythonArguments()
		if !whole || !p.take(m[1], args) {
			break
		}
		p.space()
		if rest, ended := strings.CutPrefix(p.rest, "]"); ended {
			p.rest = rest
			return true
		}
		p.rest, ok = strings.CutPrefix(p.rest, ",")
	}
	*p = before
	return false
}

var (
	pythonName  = regexp.MustCompile(`^([\w.-]+)\(\s*`)
	pythonField = regexp.MustCompile(`^\s*(\w+)\s*=\s*`)
	pythonWord  = regexp.MustCompile(`^(?:True|False|None)\b`)
	pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}
)

// pythonArguments reads keyword arguments up to the closing parenthesis. Values are literals that Python and JSON
// share, words, and strings in single quotes.
func (p *parser) pythonArguments() (json.RawMessage, bool) {
	args := map[string]json.RawMessage{}
	for {
		p.space()
		if rest, ended := strings.CutPrefix(p.rest, ")"); ended {
			p.rest = rest
			return asJSON(args)
		}
		m := pythonField.FindStringSubmatch(p.rest)
		if m == nil {
			return nil, false
		}
		p.rest = p.rest[len(m[0]):]
		value, ok := p.pythonValue()
		if !ok {
			return nil, false
		}
		args[m[1]] = value
		p.space()
		p.rest = strings.TrimPrefix(p.rest, ",")
	}
}

func (p *parser) pythonValue() (json.RawMessage, bool) {
	if word := pythonWord.FindString(p.rest); word != "" {
		p.rest = p.rest[len(word):]
		return json.RawMessage(pythonWords[word]), true
	}
	if rest, ok := strings.CutPrefix(p.rest, "'"); ok {
		text, after, ended := strings.Cut(rest, "'")
		if !ended || strings.Contains(text, `\`) {
			return nil, false
		}
		p.rest = after
		return asJSON(text)
	}
	var value json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(p.rest))
	if err := decoder.Decode(&value); err != nil && err != io.EOF || len(value) == 0 {
		return nil, false
	}
	p.rest = p.rest[decoder.InputOffset():]
	return value, true
}

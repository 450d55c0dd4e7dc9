package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// Limits on a server's description of its tools. A tool beyond one of them cannot be used, and lists of tools say why.
// The server's other tools are not affected.
const (
	maxName        = 128       // bytes; as recommended by MCP. Models see 64 of them
	maxDescription = 16 << 10  // bytes; about 4,000 tokens, in every model call
	maxSchema      = 64 << 10  // bytes; a compiled schema takes about 50 times as much
	maxOffer       = 256 << 10 // bytes of a server's descriptions and schemas; about 64,000 tokens, in every model call
	maxDepth       = 64        // levels of a schema and of arguments; compiling and checking take quadratic time
	maxExpanded    = 10_000    // values of a schema with its references expanded; a "$ref" that doubles 20 times gives a million
	maxPattern     = 10_000    // instructions of a schema's patterns; (a{1000}){1000} would be a million
)

// Bounded returns the tools that a server lists, in its order. A tool beyond a limit has only the reason why it cannot
// be used.
func Bounded(specs []Spec) []Spec {
	total := 0
	for n := range specs {
		spec := &specs[n]
		why := spec.excess()
		if total += len(spec.Description) + len(spec.Schema); why == "" && total > maxOffer {
			why = fmt.Sprintf("together with this tool, the server's tool definitions exceed %d KB", maxOffer>>10)
		}
		if why != "" {
			total -= len(spec.Description) + len(spec.Schema)
			*spec = Spec{Name: clip.Bytes(spec.Name, maxName), Unusable: why, Risk: spec.Risk, RiskFrom: spec.RiskFrom}
		}
	}
	return specs
}

// excess returns the limit that a tool exceeds, or an empty string.
func (s Spec) excess() string {
	_, own := Split(s.Name)
	switch {
	case own == "":
		return "it has no name"
	case len(s.Name) > maxName:
		return fmt.Sprintf("its name is longer than %d bytes", maxName)
	case reveal.Hides(s.Name) || strings.ContainsAny(s.Name, "\n\t"):
		return "its name has invisible characters"
	case len(s.Description) > maxDescription:
		return fmt.Sprintf("its description is longer than %d KB", maxDescription>>10)
	}
	if err := CheckBounds(s.Schema); err != nil {
		return "its schema " + err.Error()
	}
	return ""
}

// CheckBounds returns the limit that a JSON schema exceeds: "is longer than …".
func CheckBounds(schema json.RawMessage) error {
	if len(schema) > maxSchema {
		return fmt.Errorf("is longer than %d KB", maxSchema>>10)
	}
	if tooDeep(string(schema)) {
		return fmt.Errorf("is nested deeper than %d levels", maxDepth)
	}
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber() // 1e400 is a valid JSON number
	var document any
	if decoder.Decode(&document) != nil {
		return nil // the compiler reports it
	}
	e := expansion{refs: referencesOf(document), known: map[string]int{}}
	if e.of(document) > maxExpanded {
		return fmt.Errorf("expands to more than %d parts through its references", maxExpanded)
	}
	if e.patterns > maxPattern {
		return errors.New("has patterns that are too large")
	}
	return nil
}

// tooDeep reports whether a JSON text is nested too deeply.
func tooDeep(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// expansion counts the values of a schema with every reference replaced by its target. A circular reference counts
// once: its cost depends on the arguments, and is counted with them (see effort).
type expansion struct {
	refs     references
	known    map[string]int // by reference; 0 while being counted
	patterns int
}

func (e *expansion) of(value any) (sum int) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			sum = min(sum+e.of(item), maxExpanded+1)
		}
	case map[string]any:
		for key, item := range value {
			sum = min(sum+e.of(item), maxExpanded+1)
			switch key {
			case "$ref", "$dynamicRef", "$recursiveRef":
				ref, _ := item.(string)
				sum = min(sum+e.target(ref), maxExpanded+1)
			case "pattern":
				pattern, _ := item.(string)
				e.patterns = min(e.patterns+patternSize(pattern), maxPattern+1)
			case "patternProperties":
				properties, _ := item.(map[string]any)
				for pattern := range properties {
					e.patterns = min(e.patterns+patternSize(pattern), maxPattern+1)
				}
			}
		}
	}
	return sum + 1
}

func (e *expansion) target(ref string) int {
	if count, ok := e.known[ref]; ok {
		return count
	}
	e.known[ref] = 0
	e.known[ref] = e.of(e.refs.find(ref))
	return e.known[ref]
}

// patternSize estimates the number of instructions that a pattern compiles to.
func patternSize(pattern string) int {
	if len(pattern) > maxPattern {
		return maxPattern + 1
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // it will not compile
	}
	return instructions(parsed)
}

func instructions(re *syntax.Regexp) int {
	sum := 1
	if re.Op == syntax.OpLiteral {
		sum = len(re.Rune)
	}
	for _, sub := range re.Sub {
		sum = min(sum+instructions(sub), maxPattern+1)
	}
	if re.Op == syntax.OpRepeat {
		sum *= max(re.Min, re.Max, 1)
	}
	return min(sum, maxPattern+1)
}

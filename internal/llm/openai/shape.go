package openai

// shape tracks the structure of JSON as it streams. It takes time in proportion to the text.
type shape struct {
	begun, text, escaped bool // text: inside a string
	depth                int
}

func (s *shape) add(piece string) {
	for n := range len(piece) {
		switch sign := piece[n]; {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.escaped, s.text = sign == '\\', sign != '"'
		case sign == '"':
			s.begun, s.text = true, true
		case sign == '{' || sign == '[':
			s.begun = true
			s.depth++
		case sign == '}' || sign == ']':
			s.depth--
		case sign > ' ':
			s.begun = true
		}
	}
}

// whole reports whether the text is one complete value.
func (s *shape) whole() bool { return s.begun && !s.text && s.depth == 0 }

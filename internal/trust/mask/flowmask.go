package mask

import "strings"

// maskFlow masks every scalar except keys within a value that is written with braces. JSON stays valid.
func maskFlow(out *rewrite, data span) {
	text := out.text[:data.end]
	objects := []bool{} // for each open bracket, whether it is an object
	keyed, inJSON := true, false
	for i := data.start; i < len(text); {
		c := text[i]
		switch {
		case c == '[' && markerAt(text, i) > 0:
			i, keyed = markerAt(text, i), false
			continue
		case c == '{', c == '[':
			objects, keyed = append(objects, c == '{'), false
		case c == '}', c == ']':
			objects, keyed = objects[:max(0, len(objects)-1)], false
		case c == ',':
			keyed = false
		case c == ':' && !keyed:
			keyed = true
		case !isSpace(c):
			end := flowToken(text, i, keyed)
			isKey := !keyed && len(objects) > 0 && objects[len(objects)-1] && colonFollows(text, end)
			if isKey {
				inJSON = c == '"'
			} else {
				maskScalar(out, span{i, end}, inJSON)
			}
			i = end
			continue
		}
		i++
	}
}

func colonFollows(text string, i int) bool {
	i = past(text, i, isSpace)
	return i < len(text) && text[i] == ':'
}

// maskScalar masks one scalar, within its quotes if it has any.
func maskScalar(out *rewrite, at span, inJSON bool) {
	text := strings.TrimRight(out.text[at.start:at.end], " \t\r")
	at.end = at.start + len(text)
	quote := ""
	if text[0] == '"' || text[0] == '\'' {
		quote = text[:1]
	} else if inJSON {
		quote = `"`
	}
	inner := strings.Trim(text, `"'`)
	if inner == "" || inner == "null" || isMarker(inner) {
		return
	}
	out.replace(at.start, at.end, quote+kubernetesSecret.marker()+quote)
}

// flowToken returns the end of the scalar that begins at i: a quoted string on one line, or text up to a separator. A colon is a
// separator only after a key.
func flowToken(text string, i int, isValue bool) int {
	if quote := text[i]; quote == '"' || quote == '\'' {
		for end := i + 1; end < len(text) && text[end] != '\n'; end++ {
			switch text[end] {
			case quote:
				return end + 1
			case '\\':
				end++
			}
		}
	}
	end := past(text, i, func(c byte) bool { return strings.IndexByte(",{}[]\n", c) < 0 && (isValue || c != ':') })
	return max(end, i+1)
}

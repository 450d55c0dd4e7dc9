package mask

import (
	"math"
	"slices"
	"strings"
)

// secretsInFlow masks the data of Secrets that are written with braces: JSON, YAML flow style, Python output. It parses them
// leniently, anywhere in a text and even if parts are missing.
func secretsInFlow(text string) string {
	s := flowScanner{text: text, names: strings.Contains(text, "Secret")}
	for i := 0; i < len(text); {
		if len(s.frames) == 0 { // surrounding text: only a brace matters
			next := strings.IndexByte(text[i:], '{')
			if next < 0 {
				break
			}
			i += next
		}
		i = s.step(i)
	}
	s.cut()
	return s.masked()
}

// flowScanner finds the spans of data in one pass.
type flowScanner struct {
	judged
	text   string
	frames []frame
	names  bool // the text mentions Secrets somewhere
}

// frame is an open object or list.
type frame struct {
	manifest
	object bool
	// token is the last scalar without a separator after it, which may be a key.
	token string
	key   string
	keyed bool // the value of key is next
	below bool // … on another line: then it is not a plain scalar
	value int  // where it begins, if it is an object or list; 0 means that it is neither
}

const maxFrames = 2000 // nesting depth of objects

// step reads one token at i, and returns where the next one begins.
func (s *flowScanner) step(i int) int {
	switch c := s.text[i]; {
	case c == '[' && markerAt(s.text, i) > 0:
		end := markerAt(s.text, i)
		s.scalar(i, end)
		return end
	case c == '{', c == '[':
		s.open(i, c == '{')
	case c == '}', c == ']':
		s.close(i+1, c == '}')
	case c == '\n' && s.top().keyed:
		s.top().below = true
	case isSpace(c):
	case c == ',':
		s.top().keyed = false
	case c == ':' && !s.top().keyed:
		f := s.top()
		f.key, f.keyed, f.below, f.token, f.value = strings.Trim(f.token, `"' `), f.object, false, "", 0
	default:
		end := flowToken(s.text, i, s.top().keyed)
		s.scalar(i, end)
		return end
	}
	return i + 1
}

func (s *flowScanner) top() *frame { return &s.frames[len(s.frames)-1] }

func (s *flowScanner) open(i int, object bool) {
	if len(s.frames) == maxFrames {
		s.cut()
	}
	if len(s.frames) > 0 {
		s.top().value = i
	}
	s.frames = append(s.frames, frame{object: object, manifest: manifest{pending: len(s.pending)}})
}

// close ends the innermost object, or list, and everything open inside it.
func (s *flowScanner) close(end int, object bool) {
	at := len(s.frames) - 1
	for at >= 0 && s.frames[at].object != object {
		at--
	}
	if at < 0 {
		return
	}
	for len(s.frames) > at {
		s.judge(&s.top().manifest)
		s.frames = s.frames[:len(s.frames)-1]
	}
	if len(s.frames) > 0 {
		f := s.top()
		s.value(f.value, end)
	}
}

func (s *flowScanner) scalar(start, end int) {
	f := s.top()
	if f.keyed && !(f.below && s.text[start] != '"' && s.text[start] != '\'') {
		s.value(start, end)
		return
	}
	f.keyed, f.token = false, s.text[start:end]
}

// value records a value of the innermost object.
func (s *flowScanner) value(start, end int) {
	f := s.top()
	if !f.keyed {
		return
	}
	key := f.key
	if strings.Contains(key, `\`) {
		key = unescape(key)
	}
	if identifies(key) {
		f.set(key, unescape(s.text[start:min(end, start+maxKey)]))
	}
	if isData(key) {
		s.pending = append(s.pending, span{start, end})
	}
	f.keyed = false
}

// unclosed is the end of data that is never closed.
const unclosed = math.MaxInt

// cut judges frames at the end of the text, or nested too deep to follow. Their data is unclosed. If the kind is missing and the
// text mentions Secrets anywhere, the frame counts as a Secret.
func (s *flowScanner) cut() {
	for len(s.frames) > 0 {
		f := s.top()
		if f.keyed && isData(f.key) && f.value > 0 {
			f.set(f.key, "")
			s.pending = append(s.pending, span{f.value, unclosed})
		}
		if f.kind != "" && strings.HasPrefix("Secret", f.kind) { // also truncated
			f.kind = "Secret"
		}
		if f.kind == "" && len(s.pending) > f.pending && s.names {
			f.kind = "Secret"
		}
		s.judge(&f.manifest)
		s.frames = s.frames[:len(s.frames)-1]
	}
	s.pending = s.pending[:0]
}

// masked returns the text with all found data masked.
func (s *flowScanner) masked() string {
	out := rewrite{text: s.text}
	for _, data := range outermost(s.text, s.found) {
		maskFlow(&out, data)
	}
	return out.String()
}

// outermost sorts spans and drops those within others, so that deeply nested text is not read repeatedly.
func outermost(text string, all []span) (out []span) {
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	covered := 0
	for _, s := range all {
		if s.start < covered && s.end == unclosed || s.end <= covered {
			continue
		}
		if s.end == unclosed {
			s.end = unclosedEnd(text, s.start)
		}
		s.start = max(s.start, covered)
		out, covered = append(out, s), s.end
	}
	return out
}

// unclosedEnd returns the end of an unclosed value that begins at i: the end of its line, or before the next line that is indented
// no more than that one.
func unclosedEnd(text string, i int) int {
	line := lineAt(text, strings.LastIndexByte(text[:i], '\n')+1)
	for next := line; ; {
		end := next.end
		for next.next < len(text) {
			if next = lineAt(text, next.next); next.text != "" {
				break
			}
		}
		if next.end <= end || next.text == "" || next.first <= line.first && !next.closes() {
			return end
		}
	}
}

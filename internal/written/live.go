package written

import (
	"regexp"
	"strings"
)

// Live filters a text as it streams, so that its readers see neither the marks of thoughts nor calls. It
// holds back only text that may still become one of these, and at most maxPending bytes of it. Once a call has begun,
// it keeps nothing: the reply as a whole decides, see Offer.Read. It takes time in proportion to the text.
type Live struct {
	offer Offer

	pending string          // not shown yet
	shown   strings.Builder // the text that has been shown
	here    place           // the end of the text that has been shown
	thought strings.Builder // the thoughts that have been shown
	end     string          // the mark that ends the thoughts; empty outside of thoughts
	marked  bool            // thoughts have begun, or the text has a mark
	inText  bool            // the text has begun
	harmony bool            // the text ends with a mark
	held    bool            // the rest is a call
}

// maxPending bounds how much text is held back because it may still become a mark or a call, in bytes.
const maxPending = 4 << 10

// Live returns a filter for one reply.
func (o Offer) Live() *Live { return &Live{offer: o} }

// Add processes a piece and returns the parts of the text and of its thoughts that may be shown now.
func (l *Live) Add(piece string) (text, thinking string) {
	if l.held {
		return "", ""
	}
	l.pending += piece
	fromText, fromThought := l.shown.Len(), l.thought.Len()
	for {
		more, thought, repeat := l.step()
		l.shown.WriteString(more)
		l.here.read(more)
		l.thought.WriteString(thought)
		if !repeat {
			return l.shown.String()[fromText:], l.thought.String()[fromThought:]
		}
	}
}

// Rest returns the part of the whole text and its thoughts that has not been shown. If the shown part is not their
// beginning, it returns nothing.
func (l *Live) Rest(text, thinking string) (moreText, moreThinking string) {
	if rest, ok := strings.CutPrefix(text, l.shown.String()); ok {
		moreText = rest
	}
	if rest, ok := strings.CutPrefix(thinking, l.thought.String()); ok {
		moreThinking = rest
	}
	return moreText, moreThinking
}

// step processes the pending text. repeat means that more of it may be shown.
func (l *Live) step() (text, thinking string, repeat bool) {
	switch {
	case l.held:
		l.pending = ""
		return "", "", false
	case l.pending == "":
		return "", "", false
	case l.end != "":
		return l.inThoughts()
	case !l.inText:
		return l.begin()
	}
	return l.text()
}

// begin waits until it is clear whether thoughts, a call or text begin.
func (l *Live) begin() (text, thinking string, repeat bool) {
	start := strings.TrimLeft(l.pending, " \t\r\n")
	start = strings.TrimPrefix(start, harmonyStart)
	if p, ok := opened(start); ok {
		l.marked, l.end, l.pending = true, p.end, strings.TrimLeft(start[len(p.open):], " \t\r\n")
		return "", "", true
	}
	if l.undecided(start) && len(l.pending) <= maxPending {
		return "", "", false
	}
	if rest, ok := strings.CutPrefix(start, harmonyFinal); ok {
		start, l.harmony, l.marked = rest, true, true
	}
	if l.marked {
		l.pending = start
	}
	switch verdict := l.mayBeCall(start); {
	case verdict == unknown && len(l.pending) <= maxPending:
		return "", "", false
	case verdict == yes:
		l.held = true
		return "", "", true
	}
	l.inText = true
	return "", "", true
}

// undecided reports whether a reply that starts like this may still begin with a mark of thoughts.
func (l *Live) undecided(start string) bool {
	for _, p := range pairs {
		if strings.HasPrefix(p.open, start) {
			return true
		}
	}
	return strings.HasPrefix(harmonyStart, start) || strings.HasPrefix(harmonyFinal, start)
}

type answer int

const (
	no answer = iota
	unknown
	yes
)

// decided is how many bytes of a JSON text tell whether it is a call.
const decided = 80

var (
	jsonCallStart = regexp.MustCompile("^(?:```\\w*\\s*)?\\[?\\s*\\{\\s*\"(?:" +
		"name|function|tool|tool_name|tool_calls|action|arguments|parameters|type|id)\"")
	jsonStart = regexp.MustCompile("^(?:`{1,3}$|```\\w*\\s*(?:$|[\\[{<])|[\\[{])")
)

// mayBeCall reports whether a text that begins like this may be a call without a mark.
func (l *Live) mayBeCall(start string) answer {
	switch {
	case l.offer.JSON || len(l.offer.Tools) == 0:
		return no
	case jsonCallStart.MatchString(start):
		return yes
	case len(start) < decided && jsonStart.MatchString(start):
		return unknown
	}
	return no
}

// inThoughts shows thoughts up to the mark that ends them.
func (l *Live) inThoughts() (text, thinking string, repeat bool) {
	if l.thought.Len() == 0 {
		l.pending = strings.TrimLeft(l.pending, " \t\r\n")
	}
	inner, after, ok := strings.Cut(l.pending, l.end)
	if ok {
		l.end, l.pending = "", strings.TrimLeft(after, " \t\r\n")
		return "", strings.TrimRight(inner, " \t\r\n"), true
	}
	keep := len(l.pending) - partial(l.pending, []string{l.end})
	if words := len(strings.TrimRight(l.pending[:keep], " \t\r\n")); keep-words <= maxPending {
		keep = words // blanks before the mark are not shown
	}
	inner, l.pending = l.pending[:keep], l.pending[keep:]
	return "", inner, false
}

// text shows text up to the line that begins with a call.
func (l *Live) text() (text, thinking string, repeat bool) {
	show := func(n int) (string, string, bool) {
		text, l.pending = l.pending[:n], l.pending[n:]
		return text, "", true
	}
	limit := strings.IndexByte(l.pending, '\n') + 1
	if limit == 0 {
		limit = len(l.pending)
	}
	if l.harmony {
		if at := firstOf(l.pending[:limit], harmonyEnds); at >= 0 {
			l.held = true
			return show(at)
		}
		limit -= partial(l.pending[:limit], harmonyEnds)
	}
	if limit == 0 {
		return "", "", false
	}
	if len(l.offer.Tools) > 0 && l.here.startsLine() {
		if indent := limit - len(strings.TrimLeft(l.pending[:limit], " ")); indent > 0 {
			return show(indent)
		}
		verdict := l.plausible(l.pending)
		if verdict != no && !l.here.mayBegin() {
			verdict = no
		}
		switch {
		case verdict == unknown && len(l.pending) <= maxPending:
			return "", "", false
		case verdict == yes:
			l.held = true
			return "", "", true
		}
	}
	return show(limit)
}

// firstOf returns the position of the first mark in a text, or -1.
func firstOf(text string, marks []string) int {
	first := -1
	for _, mark := range marks {
		if at := strings.Index(text, mark); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// plausible reports whether a text begins with a mark after which a call may follow: JSON, another mark, or the name of a
// tool.
func (l *Live) plausible(text string) answer {
	for _, mark := range marks {
		rest, ok := strings.CutPrefix(text, mark)
		if !ok {
			if strings.HasPrefix(mark, text) {
				return unknown
			}
			continue
		}
		rest = strings.TrimLeft(rest, " \t\r\n\"'")
		if rest == "" {
			return unknown
		}
		if strings.HasPrefix("to=", rest) {
			return unknown
		}
		if strings.ContainsAny(rest[:1], "{[<") || strings.HasPrefix(rest, "｜") || strings.HasPrefix(rest, "to=") || mark == "functools[" {
			return yes
		}
		verdict := no
		for _, prefix := range []string{"", "functions.", "function<"} {
			for _, t := range l.offer.Tools {
				_, own, _ := strings.Cut(t.Name, ofServer)
				for _, name := range []string{t.Name, strings.Replace(t.Name, ofServer, ".", 1), own} {
					switch name = prefix + name; {
					case name != prefix && strings.HasPrefix(rest, name):
						return yes
					case strings.HasPrefix(name, rest):
						verdict = unknown
					}
				}
			}
		}
		if verdict == no && (mark == "<｜DSML｜" || mark == "<｜tool▁call▁begin｜>") {
			return yes
		}
		return verdict
	}
	return no
}

// partial returns the length of the longest suffix of a text that is a prefix of a mark.
func partial(text string, marks []string) int {
	longest := 0
	for _, mark := range marks {
		for n := min(len(mark)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, mark[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

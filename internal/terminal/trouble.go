package terminal

import (
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// notice prints a notice. One about a provider's trouble is a line of its own when the
// trouble begins, and then, on a terminal, the last line, which is written anew.
func (v *view) notice(n Notice) {
	width := 0
	if v.live {
		width = v.p.width
	}
	text := n.Lines("! ", width)
	_, known := v.trouble[n.Trouble]
	if n.Trouble != "" {
		v.trouble[n.Trouble] = n
		v.p.last = v.countdown
	}
	if !known || !v.live {
		v.p.full(yellow, text)
	}
	v.p.restore()
}

// countdown is the last line while providers are waited for: when the next one is
// asked again, and all about it.
func (v *view) countdown() string {
	var first Notice
	for _, n := range v.trouble {
		if first.Trouble == "" || n.Next.Before(first.Next) || n.Next.Equal(first.Next) && n.Trouble < first.Trouble {
			first = n
		}
	}
	if first.Trouble == "" {
		return ""
	}
	others := ""
	if more := len(v.trouble) - 1; more > 0 {
		others = fmt.Sprintf(" (%d more)", more)
	}
	left := max(time.Until(first.Next), 0).Round(time.Second)
	return fmt.Sprintf("! try %d in %s%s · %s", first.Tries+1, left, others, CleanLine(first.Text))
}

// overcome ends the trouble of an entry's execution, if it has one.
func (v *view) overcome(l *lane, e transcript.Entry) {
	if _, known := v.trouble[e.Execution]; !known {
		return
	}
	delete(v.trouble, e.Execution)
	if e.Kind == transcript.KindReply {
		v.p.print(l, noticeBlock, CleanLine(e.Provider)+" answers again")
	}
}

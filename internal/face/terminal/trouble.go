package terminal

import (
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// notice prints a notice. An outage is printed as a line when it begins. On a terminal it then becomes the status line, which keeps
// changing.
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

// countdown returns the status line during provider outages: the time and details of the next attempt.
func (v *view) countdown() string {
	var first Notice
	// any order: the text decides between attempts at the same time
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
		others = fmt.Sprintf(" (%s waiting)", Count(more, "more agent"))
	}
	if first.Server && first.Tries == 0 {
		return "! " + CleanLine(first.Text) + others
	}
	left := max(time.Until(first.Next), 0).Round(time.Second)
	return fmt.Sprintf("! attempt %d in %s%s · %s", first.Tries+1, left, others, CleanLine(first.Text))
}

// overcome ends the outage of an entry's execution, if there was one.
func (v *view) overcome(l *lane, e transcript.Entry) {
	ended, known := v.trouble[e.Execution]
	if !known {
		return
	}
	delete(v.trouble, e.Execution)
	if e.Kind == transcript.KindReply && !ended.Server {
		v.p.print(l, noticeBlock, CleanLine(e.Provider)+" is responding again")
	}
}

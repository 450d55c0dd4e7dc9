package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Notices returns notices for viewers about everything that an investigation or a conversation is waiting for.
func Notices(id string) func(record.Waits) []terminal.Notice {
	return func(w record.Waits) (out []terminal.Notice) {
		for _, a := range w.Approvals {
			out = append(out, WaitingNotice(id, a))
		}
		for _, q := range w.Questions {
			out = append(out, questionNotice(id, q))
		}
		for _, o := range w.Outages {
			if !o.Next.After(time.Now()) { // the attempt is running
				continue
			}
			for _, execution := range append([]string{o.Execution}, o.Others...) {
				text := execution + " is waiting for " + o.String()
				n := terminal.Notice{Text: text, Trouble: execution, Server: o.Server != "", Next: o.Next, Tries: o.Tries}
				if o.Starting() {
					n.Tries = 0
				}
				out = append(out, n)
			}
		}
		return out
	}
}

// WaitingNotice says that a call needs a person, and how to decide on it.
func WaitingNotice(id string, a record.Approval) terminal.Notice {
	asks := fmt.Sprintf("%s%s asks to call %s %s%s (risk %s, digest %s): %s.", a.HiddenNote(), a.Execution,
		reveal.Name(a.Tool), reveal.JSON(a.Arguments), cutNotice(a), a.Risk, a.Digest, reveal.Text(a.Deadline(a.LeftAt(time.Now()))))
	for _, fact := range slices.Concat(a.Why(), a.Facts()) {
		asks += " · " + reveal.Text(fact)
	}
	return terminal.Notice{Text: terminal.CleanLine(asks + " Decide:"), Command: terminal.CleanLine(fmt.Sprintf(
		"starter decide %s %s%s --approve (or --deny --reason …)", command.ShellWord(id), command.ShellWord(a.Name()), digestFlag(a)))}
}

// digestFlag returns the flag that makes decide refuse any other call than the one shown.
func digestFlag(a record.Approval) string {
	if a.Digest == "" {
		return ""
	}
	return " --digest " + command.ShellWord(shortDigest(a))
}

// shortDigest returns as much of a call's digest as decide needs.
func shortDigest(a record.Approval) string { return a.Digest[:min(len(a.Digest), system.ShortDigest)] }

// cutNotice says that the arguments are truncated.
func cutNotice(a record.Approval) string {
	if a.Bytes() == len(a.Arguments) {
		return ""
	}
	return fmt.Sprintf("… (first %d of %d bytes; to see all, run `starter approvals` with access to the workers' store)",
		len(a.Arguments), a.Bytes())
}

// questionNotice says that a question needs an answer, and how to give one.
func questionNotice(id string, q record.Question) terminal.Notice {
	how := map[string]string{"clarification": "--text …", "confirmation": "--approve (or --deny)", "agent_review": "--decision …"}[q.Kind]
	if q.Review {
		how = "--approve (or --deny --text …)"
	}
	text := q.Question
	if len(q.Data) > 0 {
		text += " " + string(q.Data)
	}
	asks := fmt.Sprintf("%s asks (%s, %s): %s Answer:", q.Stage, q.Kind, record.Until(q.Expires.Local(), base.DateTime), text)
	command := fmt.Sprintf("starter answer %s %s %s", command.ShellWord(id), command.ShellWord(q.ID), how)
	return terminal.Notice{Text: terminal.CleanLine(asks), Command: terminal.CleanLine(command)}
}

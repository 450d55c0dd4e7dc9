package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// waitingLine says that a call waits for a person, and how to decide it.
func waitingLine(id string, a workflows.Approval) string {
	return terminal.CleanLine(fmt.Sprintf("%s%s asks to call %s %s%s (risk %s, digest %s); it is denied at %s. "+
		"Decide: starter decide %s %s%s --approve (or --deny --reason …)",
		a.HiddenNote(), a.Execution, reveal.Name(a.Tool), reveal.JSON(a.Arguments), cutNotice(a), a.Risk, a.Digest,
		a.Expires.Local().Format(time.TimeOnly), shellWord(id), shellWord(client.CallName(a)), digestFlag(a)))
}

// digestFlag has decide refuse another call than the one that is shown.
func digestFlag(a workflows.Approval) string {
	if a.Digest == "" {
		return ""
	}
	return " --digest " + shellWord(a.Digest[:min(len(a.Digest), client.ShortDigest)])
}

// cutNotice says that there is more of the arguments than is in a status.
func cutNotice(a workflows.Approval) string {
	if a.Size <= len(a.Arguments) {
		return ""
	}
	return fmt.Sprintf("… (the first %d of %d bytes: `starter approvals` shows all, where the workers' store is)", len(a.Arguments), a.Size)
}

// outageLine says that an agent waits for its model's provider.
func outageLine(o workflows.Outage) string { return o.Execution + " waits for " + o.String() }

// questionLine says that a question waits for a person, and how to answer it.
func questionLine(id string, q workflows.Interrupt) string {
	how := map[string]string{
		"clarification": "--text …", "confirmation": "--approve (or --deny)", "agent_review": "--decision …",
	}[q.Kind]
	text := q.Question
	if len(q.Data) > 0 {
		text += " " + string(q.Data)
	}
	return terminal.CleanLine(fmt.Sprintf("%s asks (%s, until %s): %s Answer: starter answer %s %s %s",
		q.Stage, q.Kind, q.Expires.Local().Format(time.DateTime), text, shellWord(id), shellWord(q.ID), how))
}

// shellWord is a text as one word of a shell's command line.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

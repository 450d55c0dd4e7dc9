package job

import (
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// NoteRepeats sets Repeat of the reply's calls that the execution has requested before, if they are not safe to repeat. before is
// the execution's journal, to which a fork adds the calls that it does not share, of any agent; of a conversation only the last
// turn counts, because the person may ask for the same again. The reply's row keeps the result, so that a call is judged in the
// same way when it is requested and when it is made.
func (j *Job) NoteRepeats(tools *tool.Set, before []transcript.Entry, calls []transcript.Call) {
	if j.Plan.Conversation {
		before = transcript.Turn(before)
	}
	made := requests{tools: tools, seen: map[[2]string]string{}}
	for n := range calls {
		call := &calls[n]
		if call.Class != string(tool.NonIdempotent) || call.Own {
			continue
		}
		var repeat agent.Repeat
		for _, e := range before {
			if e.Call != nil && !e.Superseded && made.same(*e.Call, *call) {
				addRepeat(&repeat, e)
			}
		}
		for _, left := range j.Plan.Fork.LeftCalls() {
			if made.same(transcript.Call{Name: left.Tool, Arguments: left.Arguments}, *call) {
				repeat.Times++
				repeat.At, repeat.Unknown = left.At, left.Unknown
			}
		}
		for _, earlier := range calls[:n] {
			if made.same(earlier, *call) {
				repeat.InReply++
			}
		}
		if repeat.Times+repeat.InReply > 0 {
			call.Repeat = &repeat
		}
	}
}

// addRepeat adds an entry about the same call: its result, or a decision about a repetition. A failure that the tool reports
// does not count, because agents try such calls again.
func addRepeat(r *agent.Repeat, e transcript.Entry) {
	repeated := e.Call.Repeat != nil && e.Call.Edited == "" // with a person's arguments it was another call
	switch {
	case repeated && e.Refused:
		r.Denied, r.By = true, e.By
	case repeated && e.Digest != "":
		r.Approved = true
	}
	unknown := e.ErrorType == tool.ErrorOutcomeUnknown
	if e.Kind == transcript.KindResult && (unknown || e.Status == string(tool.StatusSuccess)) {
		r.Times++
		r.At, r.Unknown = e.At, unknown
	}
}

// requests compares calls by their arguments as they are made.
type requests struct {
	tools *tool.Set
	seen  map[[2]string]string // by name and arguments in a model's spelling
}

func (r requests) same(a, b transcript.Call) bool {
	return a.Name == b.Name && (a.Arguments == b.Arguments || r.made(a) == r.made(b))
}

// made returns the call's arguments in canonical form, after coercion and caps.
func (r requests) made(call transcript.Call) string {
	key := [2]string{call.Name, call.Arguments}
	text, known := r.seen[key]
	if !known {
		text = call.Arguments
		if decision, err := r.tools.Decide(call.Name, call.Arguments); err == nil {
			text = string(decision.Arguments)
		}
		r.seen[key] = text
	}
	return text
}

package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// UnknownCall is a tool call whose outcome the agent does not know: it may or may not have taken effect.
type UnknownCall struct {
	Execution string `json:"execution"` // "<stage>/<agent>"
	Iteration int    `json:"iteration"`
	Call      int    `json:"call"` // index among the iteration's calls, from 0
	Tool      string `json:"tool"`
	// Arguments are on one line and cut after 300 characters.
	Arguments string     `json:"arguments,omitempty"`
	Risk      agent.Risk `json:"risk,omitempty"`
	// At is when the call began or, if that was not recorded, when its result was written.
	At time.Time `json:"at"`
	// Seq is the number of the transcript entry.
	Seq int64 `json:"seq"`
	// NoResult means that the call was interrupted and the transcript has no result of it.
	NoResult bool `json:"no_result,omitempty"`
	// Late is the tool's answer after the call was abandoned. Nil means that none is known.
	Late *Late `json:"late,omitempty"`
}

// Done reports whether the tool has answered late that it succeeded.
func (c UnknownCall) Done() bool { return c.Late != nil && c.Late.Status == "success" }

// maxArguments is how many characters of the arguments, and of a late answer, an UnknownCall keeps.
const maxArguments = 300

// UnknownCalls returns a call for each intent and each result among entries, in the order of the entries. The caller selects
// the entries: results with an unknown outcome, intents without a result that says more, and the notices about late answers.
func UnknownCalls(entries []Entry) (out []UnknownCall) {
	type place struct {
		Scope
		Key
	}
	begun := map[place]int{}
	for _, e := range entries {
		if e.Call == nil || e.CallIndex() < 0 {
			continue
		}
		at := place{e.Scope, CallKey(e.Iteration, e.CallIndex())}
		if n, known := begun[at]; known && e.Kind == KindResult {
			out[n].NoResult, out[n].Seq = false, e.Seq
			continue
		}
		begun[at] = len(out)
		out = append(out, UnknownCall{
			Execution: e.Execution, Iteration: e.Iteration, Call: e.CallIndex(), Tool: e.Call.Name,
			Arguments: clip.Line(oneLine(e.Call.Arguments), maxArguments), Risk: e.Call.Risk, At: e.At, Seq: e.Seq,
			NoResult: e.Kind == KindCall,
		})
	}
	for _, e := range entries {
		if n, known := begun[place{e.Scope, CallKey(e.Iteration, e.CallIndex())}]; known && e.Key == LateKey(e.Iteration, e.CallIndex()) {
			out[n].Late = readLate(e.Text)
		}
	}
	return slices.DeleteFunc(out, func(c UnknownCall) bool { return c.Tool == "" })
}

// Writes returns the calls of tools that do more than read.
func Writes(calls []UnknownCall) (out []UnknownCall) {
	for _, c := range calls {
		if c.Risk != agent.RiskReadOnly {
			out = append(out, c)
		}
	}
	return out
}

func oneLine(arguments string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(arguments)) == nil {
		return out.String()
	}
	return strings.Join(strings.Fields(arguments), " ")
}

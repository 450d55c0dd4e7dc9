package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Result is the result of a call in the form for the model.
type Result struct {
	Status Status `json:"status"`
	// Content is the text for the model, valid UTF-8.
	Content string `json:"content"`
	// ErrorType is one of the types below when Status is StatusError.
	ErrorType string `json:"error_type,omitempty"`
	agent.Fault
	// Sent marks a failure after the request was sent, without an answer that shows the outcome: the call may have
	// taken effect.
	Sent bool `json:"sent,omitempty"`
	// Sends is how many requests of the call may have reached the tool's server. It is also zero for a tool without a
	// server.
	Sends int `json:"sends,omitempty"`
	// Away explains, for an ErrorUnavailable, why the tool's server is not available, if it may be back soon. It never
	// quotes the server.
	Away string `json:"away,omitempty"`
	// Pause is how many minutes the agent's heartbeats pause. Zero means no pause.
	Pause int `json:"pause,omitempty"`
	// Found are the names of the tools that a search has found, best first.
	Found []string `json:"found,omitempty"`
	// Artifacts are the parts other than text, kept in full.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a part of a result other than text: an image, a file, structured data.
type Artifact struct {
	MIMEType string          `json:"mime_type"`
	Name     string          `json:"name,omitempty"`
	Data     []byte          `json:"data,omitempty"`
	JSON     json.RawMessage `json:"json,omitempty"`
}

// Content returns the bytes of the part.
func (a Artifact) Content() []byte {
	if a.JSON != nil {
		return a.JSON
	}
	return a.Data
}

// Status says whether a tool succeeded.
type Status string

// The statuses of a result.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

// The error types of results.
const (
	ErrorTool             = "ToolError"        // reported by the tool itself
	ErrorUnknownTool      = "UnknownTool"      // no such tool
	ErrorPermissionDenied = "PermissionDenied" // the policy refused it
	ErrorInvalidArguments = "InvalidArguments" // they do not match the schema
	ErrorRateLimited      = "RateLimited"      // too many calls within a minute
	ErrorTimeout          = "Timeout"          // it took too long
	ErrorUnavailable      = "Unavailable"      // its server cannot be reached
	ErrorOutcomeUnknown   = "OutcomeUnknown"   // interrupted; the call may or may not have taken effect
	ErrorNotRun           = "NotRun"           // cancelled or refused before it began
	ErrorNotRecorded      = "not_recorded"     // the recording that answers calls has no result for it
)

// Failure returns an error result. Its type decides whether a retry may succeed.
func Failure(errorType, content string) Result {
	result := Final(errorType, content)
	switch errorType {
	case ErrorTool, ErrorInvalidArguments, ErrorRateLimited, ErrorTimeout, ErrorUnavailable:
		result.Recoverable = true
	}
	return result
}

// Final returns an error result that a retry cannot fix.
func Final(errorType, content string) Result {
	return Result{Status: StatusError, ErrorType: errorType, Content: content}
}

// NotRecorded is the result of a call that was not made, because a recording answers all calls and has no result for it.
func NotRecorded(name string) Result {
	return Failure(ErrorNotRecorded, fmt.Sprintf("This call of %s was not made: the tools of this investigation are replayed from a "+
		"recording, which has no result for these arguments.", name))
}

// OutcomeUnknown is the result of a call that must not run twice, and that may have run. why gives the reason.
func OutcomeUnknown(name, why string) Result {
	return Failure(ErrorOutcomeUnknown, fmt.Sprintf(
		"%s Whether %s took effect is unknown; it was not retried. Verify before you rely on the effect or repeat the call.",
		sentence(why), name))
}

// Unsure returns the result of a call as the model sees it. If the call failed after its request was sent, and its tool
// changes something, the result says that it may have taken effect.
func Unsure(spec Spec, r Result) Result {
	switch class := spec.Class(); {
	case !r.Sent || r.Status != StatusError || class == Safe:
		return r
	case class == Idempotent:
		r.Content = fmt.Sprintf("%s %s may have taken effect. It is safe to repeat the call.", sentence(r.Content), spec.Name)
		return r
	}
	unknown := OutcomeUnknown(spec.Name, r.Content)
	unknown.Artifacts, unknown.Sends = r.Artifacts, r.Sends
	return unknown
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// Success returns a result with text.
func Success(content string) Result {
	return Result{Status: StatusSuccess, Content: content}
}

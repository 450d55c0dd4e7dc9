package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Result is what the model is shown of a call.
type Result struct {
	Status Status `json:"status"`
	// Content is the text for the model, valid UTF-8.
	Content string `json:"content"`
	// ErrorType is one of the types below when Status is StatusError.
	ErrorType string `json:"error_type,omitempty"`
	agent.Fault
	// Sent marks a failure whose request had gone out and whose answer does not say what became of it: the call may
	// have taken effect.
	Sent bool `json:"sent,omitempty"`
	// Sends is how many requests of the call may have reached the tool's server. Zero also stands for a tool without one.
	Sends int `json:"sends,omitempty"`
	// Away says of an ErrorUnavailable why the tool's server is not there, in words of ours, if it may be back soon.
	Away string `json:"away,omitempty"`
	// Pause is for how many minutes the agent's heartbeats pause; 0 = they do not.
	Pause int `json:"pause,omitempty"`
	// Artifacts are the parts that are not text, kept whole.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a part of a result that is not text: an image, a file, structured data.
type Artifact struct {
	MIMEType string          `json:"mime_type"`
	Name     string          `json:"name,omitempty"`
	Data     []byte          `json:"data,omitempty"`
	JSON     json.RawMessage `json:"json,omitempty"`
}

// Content is what the part is made of.
func (a Artifact) Content() []byte {
	if a.JSON != nil {
		return a.JSON
	}
	return a.Data
}

// Status says whether a tool did what it was asked.
type Status string

// The statuses of a result.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

// The error types of results.
const (
	ErrorTool             = "ToolError"        // the tool itself says so
	ErrorUnknownTool      = "UnknownTool"      // no such tool
	ErrorPermissionDenied = "PermissionDenied" // the policy refused it
	ErrorInvalidArguments = "InvalidArguments" // not what the schema asks for
	ErrorRateLimited      = "RateLimited"      // too many calls within a minute
	ErrorTimeout          = "Timeout"          // it took too long
	ErrorUnavailable      = "Unavailable"      // its server cannot be reached
	ErrorOutcomeUnknown   = "OutcomeUnknown"   // interrupted; it may or may not have happened
	ErrorNotRun           = "NotRun"           // cancelled or refused before it began
)

// Failure makes an error result. Whether another attempt may succeed follows from its type.
func Failure(errorType, content string) Result {
	result := Final(errorType, content)
	switch errorType {
	case ErrorTool, ErrorInvalidArguments, ErrorRateLimited, ErrorTimeout, ErrorUnavailable:
		result.Recoverable = true
	}
	return result
}

// Final makes an error result that another attempt does not mend.
func Final(errorType, content string) Result {
	return Result{Status: StatusError, ErrorType: errorType, Content: content}
}

// OutcomeUnknown is the result of a call that must not run twice, and that may have run. why is what is known of it.
func OutcomeUnknown(name, why string) Result {
	why = strings.TrimSpace(why)
	if why != "" && !strings.ContainsAny(why[len(why)-1:], ".!?") {
		why += "."
	}
	return Failure(ErrorOutcomeUnknown, fmt.Sprintf(
		"%s It is not known whether %s took effect, and it was not called again. Verify before you rely on it or repeat it.", why, name))
}

// Success makes a result with text.
func Success(content string) Result {
	return Result{Status: StatusSuccess, Content: content}
}

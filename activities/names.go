package activities

import (
	"context"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/activities/internal/program"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// The names that the packages below share with workflows and programs. Package job documents them.

// The inputs and outputs of agents' activities.
type (
	Approve         = job.Approve
	Call            = job.Call
	CallOwnToolsIn  = job.CallOwnToolsIn
	CallOwnToolsOut = job.CallOwnToolsOut
	CallToolIn      = job.CallToolIn
	CallToolOut     = job.CallToolOut
	DecidedIn       = job.DecidedIn
	DecidedOut      = job.DecidedOut
	Decision        = job.Decision
	Doing           = job.Doing
	EditCallIn      = job.EditCallIn
	EditCallOut     = job.EditCallOut
	Elicitation     = job.Elicitation
	Elicited        = job.Elicited
	Failure         = job.Failure
	GenerateIn      = job.GenerateIn
	GenerateOut     = job.GenerateOut
	Input           = job.Input
	InputKind       = job.InputKind
	ListToolsIn     = job.ListToolsIn
	ListToolsOut    = job.ListToolsOut
	Note            = job.Note
	Peer            = job.Peer
	PlanCallsIn     = job.PlanCallsIn
	PlanResultIn    = job.PlanResultIn
	Ref             = job.Ref
	RunHookIn       = job.RunHookIn
	RunHookOut      = job.RunHookOut
	RunMockIn       = job.RunMockIn
	ServeIn         = job.ServeIn
	ServerAway      = job.ServerAway
	Source          = job.Source
	SubCall         = job.SubCall
	SubEnded        = job.SubEnded
	TaskRef         = job.TaskRef
	Trouble         = job.Trouble
	UnansweredIn    = job.UnansweredIn
)

// Dependencies of the activities.
type (
	Blobs       = job.Blobs
	Intake      = job.Intake
	Memories    = job.Memories
	People      = job.People
	Records     = job.Records
	Requests    = job.Requests
	Rules       = job.Rules
	Runs        = job.Runs
	Sessions    = job.Sessions
	Transcripts = job.Transcripts
)

// The stable error types of activities and agents.
const (
	ErrorCancelled         = job.ErrorCancelled
	ErrorConfiguration     = job.ErrorConfiguration
	ErrorConversation      = job.ErrorConversation
	ErrorEmptyReply        = job.ErrorEmptyReply
	ErrorHook              = job.ErrorHook
	ErrorInvalidOutput     = job.ErrorInvalidOutput
	ErrorInvalidPlan       = job.ErrorInvalidPlan
	ErrorInvalidRequest    = job.ErrorInvalidRequest
	ErrorIterationLimit    = job.ErrorIterationLimit
	ErrorMock              = job.ErrorMock
	ErrorModelUnavailable  = job.ErrorModelUnavailable
	ErrorNotAModel         = job.ErrorNotAModel
	ErrorNotQuick          = job.ErrorNotQuick
	ErrorPrompt            = job.ErrorPrompt
	ErrorRateLimited       = job.ErrorRateLimited
	ErrorReplaced          = job.ErrorReplaced
	ErrorServerUnavailable = job.ErrorServerUnavailable
	ErrorStore             = job.ErrorStore
	ErrorStoreBehind       = job.ErrorStoreBehind
	ErrorFailedBefore      = job.ErrorFailedBefore
	ErrorTimeout           = job.ErrorTimeout
	ErrorWorkerCannot      = job.ErrorWorkerCannot
	ErrorWorkerDied        = job.ErrorWorkerDied
)

// The error types of results that the workflow decides.
const (
	ResultDenied      = job.ResultDenied
	ResultFailed      = job.ResultFailed
	ResultNotRun      = job.ResultNotRun
	ResultUnavailable = job.ResultUnavailable
)

// The kinds of a model call's inputs.
const (
	InputAnswered  = job.InputAnswered
	InputAwake     = job.InputAwake
	InputBound     = job.InputBound
	InputConclude  = job.InputConclude
	InputHeartbeat = job.InputHeartbeat
	InputLimit     = job.InputLimit
	InputMessage   = job.InputMessage
	InputMissing   = job.InputMissing
	InputNotice    = job.InputNotice
	InputNudge     = job.InputNudge
	InputRepair    = job.InputRepair
	InputRepeating = job.InputRepeating
	InputResult    = job.InputResult
	InputScore     = job.InputScore
	InputSubAgent  = job.InputSubAgent
	InputTools     = job.InputTools
)

// Times, and words that workflows compare.
const (
	Abandoned       = job.Abandoned
	EarlierStands   = job.EarlierStands
	FinishRepeating = job.FinishRepeating
	PostProcess     = job.PostProcess
	PreProcess      = job.PreProcess
	WorkerWait      = job.WorkerWait
	CodeTime        = program.CodeTime
)

// ContentError reports whether an error type is about the content sent to the model, so that the same content would fail
// again.
func ContentError(errorType string) bool {
	return job.ContentError(errorType)
}

// HookExecution names the output of a hook the way an agent's execution is named. Agent names cannot contain a colon.
func HookExecution(stage, point, name string) string {
	return job.HookExecution(stage, point, name)
}

// MaskResult masks a result, if there is a masker. The error is ctx's.
func MaskResult(ctx context.Context, masker *mask.Masker, name string, result tool.Result) (tool.Result, error) {
	return job.MaskResult(ctx, masker, name, result)
}

// MaskTools masks the prose of tools: their descriptions, and those in their schemas.
func MaskTools(ctx context.Context, masker *mask.Masker, specs []tool.Spec) {
	job.MaskTools(ctx, masker, specs)
}

// MaskWords masks and shortens a server's own words, so that they may be stored and shown to people.
func MaskWords(ctx context.Context, masker *mask.Masker, text string) string {
	return job.MaskWords(ctx, masker, text)
}

// ModelError reports whether an error type is about the model rather than Inquest or a tool.
func ModelError(errorType string) bool {
	return job.ModelError(errorType)
}

// ReadDoing reads heartbeat details with a function that decodes them into a pointer.
func ReadDoing(decode func(to any) error) (d Doing) {
	return job.ReadDoing(decode)
}

// Strike reports whether a failure of this type counts toward switching models: after two in a row, an agent that has
// another model uses that.
func Strike(errorType string) bool {
	return job.Strike(errorType)
}

// Tries returns how often a model call that fails with this error type is made. Zero means as often as the outage
// timeout allows.
func Tries(errorType string) int {
	return job.Tries(errorType)
}

package value

// SuccessPolicy says how many of a stage's agents must succeed.
type SuccessPolicy string

// The success policies of a stage.
const (
	SuccessAny SuccessPolicy = "any"
	SuccessAll SuccessPolicy = "all"
)

// OnLimit says what happens when an agent has used all of its iterations.
type OnLimit string

// The values of OnLimit.
const (
	OnLimitConclude OnLimit = "conclude"
	OnLimitError    OnLimit = "error"
)

// OnBound says what happens when an investigation reaches one of its limits.
type OnBound string

// The values of OnBound.
const (
	OnBoundEnd OnBound = "end"
	OnBoundAsk OnBound = "ask"
)

// Access limits the risk of the tools that an agent may use.
type Access string

// The access levels: no tools, tools that only read, tools that also write, all tools.
const (
	AccessNone  Access = "none"
	AccessRead  Access = "read"
	AccessWrite Access = "write"
	AccessAll   Access = "all"
)

// TaintRule says which calls need a person's approval after untrusted text was read.
type TaintRule string

// The values are calls of no tool, of tools that destroy or whose risk is high or critical, and of all tools that do
// more than read.
const (
	TaintedAllow       TaintRule = "allow"
	TaintedDestructive TaintRule = "destructive"
	TaintedWriting     TaintRule = "writing"
)

// RepeatRule says what happens to a call that an agent has made before, of a tool that may change something.
type RepeatRule string

// The values of RepeatRule: the call is made, a person decides about it once, or it is refused.
const (
	RepeatsAllow RepeatRule = "allow"
	RepeatsAsk   RepeatRule = "ask"
	RepeatsDeny  RepeatRule = "deny"
)

// Confinement says what to do if a command cannot be confined.
type Confinement string

// The values of Confinement.
const (
	ConfineNever      Confinement = "never"
	ConfineIfPossible Confinement = "if_possible"
	ConfineRequired   Confinement = "required"
)

package plan

import "github.com/inquest-dev/inquest/value"

// The types of values that plans share with definitions.
type (
	Duration      = value.Duration
	SuccessPolicy = value.SuccessPolicy
	OnLimit       = value.OnLimit
	OnBound       = value.OnBound
	Access        = value.Access
	TaintedWrites = value.TaintRule
	RepeatRule    = value.RepeatRule
	Confinement   = value.Confinement
)

// The values of these types.
const (
	SuccessAny = value.SuccessAny
	SuccessAll = value.SuccessAll

	OnLimitConclude = value.OnLimitConclude
	OnLimitError    = value.OnLimitError

	OnBoundEnd = value.OnBoundEnd
	OnBoundAsk = value.OnBoundAsk

	AccessNone  = value.AccessNone
	AccessRead  = value.AccessRead
	AccessWrite = value.AccessWrite
	AccessAll   = value.AccessAll

	TaintedAllow       = value.TaintedAllow
	TaintedDestructive = value.TaintedDestructive
	TaintedWriting     = value.TaintedWriting

	RepeatsAllow = value.RepeatsAllow
	RepeatsAsk   = value.RepeatsAsk
	RepeatsDeny  = value.RepeatsDeny

	ConfineNever      = value.ConfineNever
	ConfineIfPossible = value.ConfineIfPossible
	ConfineRequired   = value.ConfineRequired
)

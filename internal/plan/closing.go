package plan

import (
	"slices"
	"strings"
)

// The indexes of the stages around a chain's stages.
const (
	SummaryStage  = -1
	ScoringStage  = -2
	LearningStage = -3
)

// The names of those stages and of their runs. No stage of a chain can have these names.
const (
	SummaryName  = ":summary"
	ScoringName  = ":score"
	LearningName = ":learn"
)

// Judges reports whether an execution judges its investigation, or learns from it.
func Judges(execution string) bool {
	stage, _, _ := strings.Cut(execution, "/")
	stage, _, _ = strings.Cut(stage, "#")
	return stage == ScoringName || stage == LearningName
}

// StageAt returns the stage with an index. ok is false if the plan has no such stage.
func (p Plan) StageAt(n int) (s Stage, ok bool) {
	switch {
	case n == SummaryStage && p.Summary != nil:
		return *p.Summary, true
	case n == ScoringStage && p.Scoring != nil:
		return *p.Scoring, true
	case n == LearningStage && p.Learning != nil:
		return *p.Learning, true
	case n >= 0 && n < len(p.Stages):
		return p.Stages[n], true
	}
	return Stage{}, false
}

// AllStages returns the chain's stages, followed by the stages around them.
func (p Plan) AllStages() []Stage {
	all := slices.Clone(p.Stages)
	for _, s := range []*Stage{p.Summary, p.Scoring, p.Learning} {
		if s != nil {
			all = append(all, *s)
		}
	}
	return all
}

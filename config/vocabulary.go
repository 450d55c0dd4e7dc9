package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// vocabularyOf is the vocabulary that an enum tag names.
func vocabularyOf(name string) strict.Vocabulary {
	switch name {
	case "agent type":
		return agentTypes()
	case "provider type":
		return providerTypeNames()
	case "backend":
		return strict.Vocabulary{Words: []string{BackendLangChain, BackendNativeGemini}, Aliases: []string{backendGoogleNative}}
	case "driver":
		return strict.Vocabulary{Words: []string{DriverGenAI, DriverGenerativeAI}}
	case "transport":
		return strict.Vocabulary{Words: []string{TransportStdio, TransportHTTP, TransportSSE}}
	case "success policy":
		return strict.Vocabulary{Words: []string{string(plan.SuccessAny), string(plan.SuccessAll)}}
	case "join":
		return strict.Vocabulary{Words: []string{JoinAll, JoinAny}}
	case "on expiry":
		return strict.Vocabulary{Words: []string{OnExpiryEnd, OnExpiryContinue}}
	case "on limit":
		return strict.Vocabulary{Words: []string{string(plan.OnLimitConclude), string(plan.OnLimitError)}}
	case "risk":
		return strict.Vocabulary{Words: []string{
			string(agent.RiskReadOnly), string(agent.RiskWrite), string(agent.RiskDestructive),
			string(agent.RiskLow), string(agent.RiskMedium), string(agent.RiskHigh), string(agent.RiskCritical), string(agent.RiskUnknown),
		}}
	case "allowed options":
		return strict.Vocabulary{Words: []string{optionsChecked, optionsAll}}
	case "confinement":
		return strict.Vocabulary{Words: []string{string(plan.ConfineNever), string(plan.ConfineIfPossible), string(plan.ConfineRequired)}}
	case "access level":
		return strict.Vocabulary{Words: []string{string(plan.AccessNone), string(plan.AccessRead), string(plan.AccessWrite), string(plan.AccessAll)}}
	case "masking group":
		return strict.Vocabulary{Words: slices.Sorted(maps.Keys(mask.Groups()))}
	case "masking pattern":
		return strict.Vocabulary{Words: mask.Names()}
	case "compression strategy":
		return strict.Vocabulary{Words: []string{"window", "truncate", "summarize"}}
	}
	return strict.Vocabulary{}
}

func agentTypes() (v strict.Vocabulary) {
	for _, t := range agent.Types() {
		v.Words = append(v.Words, t.Name)
		v.Aliases = append(v.Aliases, t.Aliases...)
	}
	v.Planned = agent.PlannedType
	return v
}

func providerTypeNames() (v strict.Vocabulary) {
	for _, t := range providerTypes {
		if t.plan != "" {
			v.Words = append(v.Words, t.name)
		}
	}
	v.Planned = func(word string) bool {
		_, ok := lookupProviderType(word)
		return ok
	}
	return v
}

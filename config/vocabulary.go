package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
)

// vocabularyOf is the vocabulary that an enum tag names.
func vocabularyOf(name string) vocabulary {
	switch name {
	case "agent type":
		return agentTypes()
	case "provider type":
		return providerTypeNames()
	case "backend":
		return vocabulary{words: []string{BackendLangChain, BackendNativeGemini}, aliases: []string{backendGoogleNative}}
	case "driver":
		return vocabulary{words: []string{DriverGenAI, DriverGenerativeAI}}
	case "transport":
		return vocabulary{words: []string{TransportStdio, TransportHTTP, TransportSSE}}
	case "success policy":
		return vocabulary{words: []string{string(plan.SuccessAny), string(plan.SuccessAll)}}
	case "join":
		return vocabulary{words: []string{JoinAll, JoinAny}}
	case "on expiry":
		return vocabulary{words: []string{OnExpiryEnd, OnExpiryContinue}}
	case "on limit":
		return vocabulary{words: []string{string(plan.OnLimitConclude), string(plan.OnLimitError)}}
	case "risk":
		return vocabulary{words: []string{
			string(agent.RiskReadOnly), string(agent.RiskWrite), string(agent.RiskDestructive),
			string(agent.RiskLow), string(agent.RiskMedium), string(agent.RiskHigh), string(agent.RiskCritical), string(agent.RiskUnknown),
		}}
	case "allowed options":
		return vocabulary{words: []string{optionsChecked, optionsAll}}
	case "confinement":
		return vocabulary{words: []string{string(plan.ConfineNever), string(plan.ConfineIfPossible), string(plan.ConfineRequired)}}
	case "access level":
		return vocabulary{words: []string{string(plan.AccessNone), string(plan.AccessRead), string(plan.AccessWrite), string(plan.AccessAll)}}
	case "masking group":
		return vocabulary{words: slices.Sorted(maps.Keys(mask.Groups()))}
	case "masking pattern":
		return vocabulary{words: mask.Names()}
	case "compression strategy":
		return vocabulary{words: []string{"window", "truncate", "summarize"}}
	}
	return vocabulary{}
}

func agentTypes() (v vocabulary) {
	for _, t := range agent.Types() {
		v.words = append(v.words, t.Name)
		v.aliases = append(v.aliases, t.Aliases...)
	}
	v.planned = agent.PlannedType
	return v
}

func providerTypeNames() (v vocabulary) {
	for _, t := range providerTypes {
		if t.plan != "" {
			v.words = append(v.words, t.name)
		}
	}
	v.planned = func(word string) bool {
		_, ok := lookupProviderType(word)
		return ok
	}
	return v
}

package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// vocabularyOf returns the vocabulary that an enum tag names.
func vocabularyOf(name string) strict.Vocabulary {
	switch name {
	case "agent type":
		return agentTypes()
	case "agent source":
		return words(virtual.Source)
	case "stage type":
		return words(stageInvestigation, stageAction)
	case "provider type":
		return providerTypeNames()
	case "backend":
		return strict.Vocabulary{Words: []string{BackendLangChain, BackendNativeGemini}, Aliases: []string{backendGoogleNative, backendNative}}
	case "api":
		return words(APIChatCompletions, APIResponses)
	case "driver":
		return words(DriverGenAI, DriverGenerativeAI)
	case "reasoning effort":
		return strict.Vocabulary{Words: []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}}
	case "transport":
		return strict.Vocabulary{Words: []string{TransportStdio, TransportHTTP, TransportSSE}, Aliases: streamableHTTP}
	case "success policy":
		return words(plan.SuccessAny, plan.SuccessAll)
	case "join":
		return words(JoinAll, JoinAny)
	case "on expiry":
		return words(OnExpiryEnd, OnExpiryContinue)
	case "on limit":
		return words(plan.OnLimitConclude, plan.OnLimitError)
	case "on bound":
		return words(plan.OnBoundEnd, plan.OnBoundAsk)
	case "risk":
		return words(agent.RiskReadOnly, agent.RiskWrite, agent.RiskDestructive,
			agent.RiskLow, agent.RiskMedium, agent.RiskHigh, agent.RiskCritical, agent.RiskUnknown)
	case "allowed options":
		return words(optionsChecked, optionsAll)
	case "confinement":
		return words(plan.ConfineNever, plan.ConfineIfPossible, plan.ConfineRequired)
	case "access level":
		return words(plan.AccessNone, plan.AccessRead, plan.AccessWrite, plan.AccessAll)
	case "role":
		return words(RoleViewer, RoleOperator, RoleApprover, RoleAdmin)
	case "webhook format":
		return strict.Vocabulary{Words: webhook.FormatNames()}
	case "signature scheme":
		return strict.Vocabulary{Words: webhook.SchemeNames()}
	case "mcp decide":
		return words(DecideNever, DecideAsk, DecideTrust)
	case "tainted writes":
		return words(plan.TaintedAllow, plan.TaintedDestructive, plan.TaintedWriting)
	case "masking group":
		return strict.Vocabulary{Words: slices.Sorted(maps.Keys(mask.Groups()))}
	case "masking pattern":
		return strict.Vocabulary{Words: mask.Names()}
	case "compression strategy":
		return words("window", "truncate", "summarize")
	}
	return strict.Vocabulary{}
}

// words returns a vocabulary of plain words.
func words[T ~string](all ...T) (v strict.Vocabulary) {
	for _, word := range all {
		v.Words = append(v.Words, string(word))
	}
	return v
}

func agentTypes() (v strict.Vocabulary) {
	for _, t := range agent.Types() {
		v.Words = append(v.Words, t.Name)
		v.Aliases = append(v.Aliases, t.Aliases...)
	}
	return v
}

func providerTypeNames() (v strict.Vocabulary) {
	for _, t := range providerTypes {
		v.Words = append(v.Words, t.name)
	}
	return v
}

package configuration

import (
	"cmp"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/plan"
)

// planMemory returns nil if agents do not learn.
func planMemory(m config.Memory) *plan.Memory {
	if !value(m.Enabled) {
		return nil
	}
	out := &plan.Memory{MaxInject: 5, MaxKnown: 20, Embedding: planEmbedding(m.Embedding)}
	if m.MaxInject != nil {
		out.MaxInject = *m.MaxInject
	}
	if m.ReflectorMemoryLimit != nil {
		out.MaxKnown = *m.ReflectorMemoryLimit
	}
	return out
}

func planEmbedding(e config.Embedding) *plan.Embedding {
	if e.Provider == "" {
		return nil
	}
	out := &plan.Embedding{
		Provider: e.Provider, Model: e.Model, BaseURL: strings.TrimRight(withoutUser(e.BaseURL), "/"),
		APIKeyEnv: e.APIKeyEnv, Dimensions: value(e.Dimensions),
	}
	if e.BaseURL == "" {
		keys := map[string]string{config.EmbeddingGoogle: "GOOGLE_API_KEY", config.EmbeddingOpenAI: "OPENAI_API_KEY"}
		out.APIKeyEnv = cmp.Or(e.APIKeyEnv, keys[e.Provider])
	}
	return out
}

func validateMemory(m config.Memory, p path, v *validator) {
	if !value(m.Enabled) {
		return
	}
	if row := agentRow(v.Agents[learns.standard]); row.Name != learns.kind && row.Name != "" {
		v.Errorf(entryPath("agents", learns.standard), "has type %q, but memory needs an agent of type %q", row.Name, learns.kind)
	}
	for chain := range v.AgentChains {
		if _, scored := v.closing(scoring, chain, false); scored {
			return
		}
	}
	v.Add(config.SeverityWarning, p.Key("enabled"), "nothing is learned, because no chain is scored: set defaults.scoring.enabled")
}

func validateEmbedding(e config.Embedding, p path, v *validator) {
	if e.Provider != "" && strings.TrimSpace(e.Model) == "" {
		v.Errorf(p.Key("model"), "a model is required")
	}
	if e.Provider == "" && (e.Model != "" || e.BaseURL != "" || e.APIKeyEnv != "") {
		v.Errorf(p.Key("provider"), "a provider is required: %s or %s", config.EmbeddingGoogle, config.EmbeddingOpenAI)
	}
	if e.APIKeyEnv != "" && !variableName.MatchString(e.APIKeyEnv) { // not shown, because it may be a key
		v.Errorf(p.Key("api_key_env"), "must be the name of a variable that holds the key, such as GOOGLE_API_KEY")
	}
	if e.BaseURL != "" && !strings.HasPrefix(e.BaseURL, "https://") && !strings.HasPrefix(e.BaseURL, "http://") {
		v.Errorf(p.Key("base_url"), "must begin with https:// or http://")
	}
}

// embeddingKey warns of a missing key, without which learnings are still found by their words.
func (v *validator) embeddingKey() {
	memory := planMemory(v.Defaults.Memory)
	if memory == nil || memory.Embedding == nil || !variableName.MatchString(memory.Embedding.APIKeyEnv) {
		return
	}
	name := memory.Embedding.APIKeyEnv
	if key, _ := v.env(name); key == "" {
		v.Add(config.SeverityWarning, path{}.Key("defaults").Key("memory").Key("embedding").Key("api_key_env"),
			"variable %s is not set, or is empty: learnings are searched by words only", name)
	}
}

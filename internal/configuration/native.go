package configuration

import (
	"fmt"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Alternative spellings of config.BackendNativeGemini.
const (
	backendGoogleNative = "google-native"
	backendNative       = "native"
)

func plannedNativeTools(t config.NativeTools) plan.NativeTools {
	return plan.NativeTools{
		GoogleSearch: value(t.GoogleSearch), URLContext: value(t.URLContext), CodeExecution: value(t.CodeExecution),
	}
}

// wantsNative reports whether any of the tools is turned on.
func wantsNative(t config.NativeTools) bool { return plannedNativeTools(t) != plan.NativeTools{} }

// canonical returns the spelling of a backend that plans use.
func canonical(backend string) string {
	if backend == backendGoogleNative || backend == backendNative {
		return config.BackendNativeGemini
	}
	return backend
}

// choice is a provider to try, with its backend.
type choice struct{ provider, backend string }

// choices returns the providers to try, in order, each once. A fallback without a backend uses the agent's if that can
// reach its provider.
func (c *content) choices(s settings) []choice {
	all := []choice{{s.Provider, s.Backend}}
	seen := map[choice]bool{all[0]: true}
	for _, f := range s.Fallbacks {
		next := choice{f.Provider, canonical(f.Backend)}
		if next.backend == "" {
			next.backend = s.Backend
			if entry, ok := c.LLMProviders[f.Provider]; ok {
				next.backend = reachableBy(entry, s.Backend)
			}
		}
		if !seen[next] {
			seen[next] = true
			all = append(all, next)
		}
	}
	return all
}

// native checks everything that only Gemini's native backend can do, for agents with all their inherited settings.
func (v *validator) native() {
	for name := range v.AgentChains {
		agents := v.chainWork(name)
		for n, w := range agents {
			if n == 0 || w.at != agents[n-1].at { // replicas are identical
				v.nativeWork(w)
			}
		}
	}
}

// nativeWork reports the agent's problem. In a built-in chain that is only a warning, because the user has not asked
// for the chain.
func (v *validator) nativeWork(w work) {
	problem := v.nativeProblem(w)
	if problem != "" && v.BuiltIn(w.at) {
		v.Add(config.SeverityWarning, w.at, "%s", problem)
	} else if problem != "" {
		v.Errorf(w.at, "%s", problem)
	}
	if !w.kind.Pattern.Model() {
		return
	}
	for n, choice := range v.choices(w.settings) {
		if _, problem := v.thinking(w, choice); problem != "" && n > 0 {
			v.Add(config.SeverityWarning, w.at, "the fallback %q of agent %q keeps its model's own thinking settings: %s",
				choice.provider, w.definition, problem)
		} else if problem != "" {
			v.Errorf(w.at, "%s", problem)
		}
		if problem := v.lacksNative(w, choice); n > 0 && problem != "" {
			v.Add(config.SeverityWarning, w.at, "%s", problem)
		}
		if model, back := v.standsBack(w, choice); back {
			v.Add(config.SeverityWarning, w.at, "the native tools of agent %q are left out at provider %q: %s cannot combine them "+
				"with other tools; newer models can", w.definition, choice.provider, model)
		}
	}
}

// lacksNative says why an agent cannot fall back to a provider: the agent would lose native tools that it needs. It
// returns an empty string if it can.
func (c *content) lacksNative(w work, to choice) string {
	provider, ok := c.LLMProviders[to.provider]
	first := choice{w.Provider, w.Backend}
	if _, back := c.standsBack(w, first); !ok || back || !wantsNative(w.NativeTools) {
		return ""
	}
	if to.backend == config.BackendNativeGemini && isGemini(provider) && provider.Driver != config.DriverGenerativeAI {
		return ""
	}
	return fmt.Sprintf("the fallback %q of agent %q is skipped: it does not have the agent's native tools", to.provider, w.definition)
}

// standsBack reports whether the agent goes without native tools, because it has other tools and the provider's model
// cannot combine them.
func (c *content) standsBack(w work, at choice) (model string, back bool) {
	provider, ok := c.LLMProviders[at.provider]
	if !ok || at.backend != config.BackendNativeGemini || !isGemini(provider) || !w.kind.Pattern.Tools() {
		return "", false
	}
	native, _ := strict.Inherit(provider.NativeTools, w.NativeTools)
	functions := len(w.Servers) + len(w.kind.Tools) + len(c.toolIDs(w.definition))
	return provider.Model, wantsNative(native) && functions > 0 && !agent.MixesTools(provider.Model)
}

func (c *content) nativeProblem(w work) string {
	provider, ok := c.LLMProviders[w.Provider]
	ok = ok && w.kind.Pattern.Model()
	where := func(key string) From { return c.report.Where(w.origin(key)) }
	switch {
	case !ok: // reported already
	case w.Backend == config.BackendNativeGemini && !isNative(provider):
		return fmt.Sprintf("llm_backend %s (%s) needs a provider of type google, anthropic or vertexai; %q (%s) is of type %q",
			w.Backend, where("llm_backend"), w.Provider, where("llm_provider"), provider.Type)
	case !wantsNative(w.NativeTools):
	case !isGemini(provider) && w.Backend == config.BackendNativeGemini:
		return fmt.Sprintf("the native tools of agent %q need a Gemini model, at a provider of type google or vertexai; its provider %q "+
			"(type %q) has none",
			w.definition, w.Provider, provider.Type)
	case w.Backend != config.BackendNativeGemini:
		return fmt.Sprintf("the native tools of agent %q need llm_backend %s; it has %s (%s)",
			w.definition, config.BackendNativeGemini, w.Backend, where("llm_backend"))
	case provider.Driver == config.DriverGenerativeAI:
		return fmt.Sprintf("the native tools of agent %q need driver %s; its provider %q has %s",
			w.definition, config.DriverGenAI, w.Provider, provider.Driver)
	}
	return ""
}

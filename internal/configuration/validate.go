package configuration

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// validator is passed to the functions that check the types, which report to it.
type validator struct {
	*Config
	*strict.Report
	unaskedBy map[string]bool           // see unasked
	serverAt  map[string]*config.Server // by the paths of their entries
}

// validate checks everything.
func (c *Config) validate() {
	v := &validator{Config: c, Report: c.report, serverAt: map[string]*config.Server{}}
	// any order: paths differ
	for name, s := range c.MCPServers {
		v.serverAt[entryPath("mcp_servers", name).Text] = s
	}
	v.alertTypes()
	v.variables()
	strict.Checker{Report: v.Report, Words: vocabularyOf, Also: v.value}.Check(&c.content.Config)
	v.prompts()
	v.native()
	v.orchestrators()
	if !c.src.SkipCredentials {
		v.credentials()
	}
	v.skillProjects()
	v.tightBounds()
	v.serverNames()
	v.unplannable()
}

// unplannable reports why the user's chains have no plan, so that every request for them would be refused. Workers only warn: a request
// may name another provider, and files of earlier versions keep working.
func (v *validator) unplannable() {
	if v.Findings.Failed() || v.src.Partial {
		return
	}
	severity := config.SeverityWarning
	if v.src.Validating {
		severity = config.SeverityError
	}
	chains := map[string][]string{} // by problem
	for _, name := range slices.Sorted(maps.Keys(v.AgentChains)) {
		if v.BuiltIn(entryPath("agent_chains", name)) || len(v.VirtualOf(name)) > 0 { // virtual agents may exist later
			continue
		}
		for _, problem := range v.refusals(name) {
			chains[problem] = append(chains[problem], name)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(chains)) {
		names := chains[problem]
		v.Add(severity, entryPath("agent_chains", names[0]), "investigations of %s cannot start: %s", strings.Join(names, ", "), problem)
	}
}

// refusals returns why a chain has no plan in any project that may use it.
func (v *validator) refusals(chain string) (problems []string) {
	projects := v.AgentChains[chain].Projects
	if projects == nil || slices.Contains(projects, config.AllProjects) {
		projects = []string{agent.DefaultProject}
		for _, skill := range v.skills { // some agents need skills that only some projects have
			projects = append(projects, skill.Projects...)
		}
	}
	for n, project := range projects {
		_, err := v.Plan(agent.Request{Chain: chain, Labels: agent.Labels{Project: project}})
		refused, ok := errors.AsType[*PlanError](err)
		switch {
		case !ok:
			return nil
		case n == 0:
			problems = refused.Problems
		default:
			problems = slices.DeleteFunc(problems, func(problem string) bool { return !slices.Contains(refused.Problems, problem) })
		}
	}
	return problems
}

// serverNames warns of servers whose tools can get the same names for models: both "a_" + ".b" and "a" + "._b" become
// a___b.
func (v *validator) serverNames() {
	for _, name := range slices.Sorted(maps.Keys(v.MCPServers)) {
		if other, ends := strings.CutSuffix(name, "_"); ends && v.MCPServers[other] != nil {
			v.Add(config.SeverityWarning, entryPath("mcp_servers", name),
				"a tool of %q and one of %q can get the same name for models, and an agent with both loses one of them: rename "+
					"a server", other, name)
		}
	}
}

// value checks a value by the rules of its type, and for hazards.
func (v *validator) value(p path, value reflect.Value, f strict.Field) {
	own := reflect.New(value.Type())
	if value.CanAddr() {
		own = value.Addr()
	} else {
		own.Elem().Set(value)
	}
	v.rules(p, own.Interface())
	v.hazards(p, value, f)
}

// rules checks an entry by the rules of its type. It gets the entry's address.
func (v *validator) rules(p path, entry any) {
	switch own := entry.(type) {
	case *config.Agent:
		validateAgent(own, p, v)
	case *config.Chain:
		validateChain(own, p, v)
	case *config.Chat:
		validateChat(*own, p, v)
	case *config.CustomPattern:
		validateCustomPattern(*own, p, v)
	case *config.Dedup:
		validateDedup(*own, p, v)
	case *config.Defaults:
		validateDefaults(own, p, v)
	case *config.Embedding:
		validateEmbedding(*own, p, v)
	case *config.Fallback:
		validateFallback(*own, p, v)
	case *config.Grant:
		validateGrant(*own, p, v)
	case *config.Holiday:
		validateHoliday(*own, p, v)
	case *config.HTTP:
		validateHTTP(*own, p, v)
	case *config.Memory:
		validateMemory(*own, p, v)
	case *config.NotificationChannel:
		validateNotificationChannel(*own, p, v)
	case *config.NotificationRoute:
		validateNotificationRoute(*own, p, v)
	case *config.Notifications:
		validateNotifications(*own, p, v)
	case *config.OIDC:
		validateOIDC(*own, p, v)
	case *config.Provider:
		validateProvider(own, p, v)
	case *config.Requests:
		validateRequests(*own, p, v)
	case *config.Runbooks:
		validateRunbooks(*own, p, v)
	case *config.Server:
		validateServer(own, p, v)
	case *config.Shell:
		validateShell(*own, p, v)
	case *config.Slack:
		validateSlack(*own, p, v)
	case *config.SlackChannel:
		validateSlackChannel(*own, p, v)
	case *config.SlackUser:
		validateSlackUser(*own, p, v)
	case *config.Stage:
		validateStage(own, p, v)
	case *config.StageAgent:
		validateStageAgent(own, p, v)
	case *config.Store:
		validateStore(*own, p, v)
	case *config.SubAgent:
		validateSubAgent(own, p, v)
	case *config.Summarization:
		validateSummarization(*own, p, v)
	case *config.Summarizer:
		validateSummarizer(*own, p, v)
	case *config.System:
		validateSystem(*own, p, v)
	case *config.Token:
		validateGrant(own.Grant, p, v)
	case *config.ToolConfig:
		validateToolConfig(*own, p, v)
	case *config.ToolPermission:
		validateToolPermission(*own, p, v)
	case *config.Transport:
		validateTransport(*own, p, v)
	case *config.Webhook:
		validateWebhook(*own, p, v)
	case *config.WebhookMapping:
		validateWebhookMapping(*own, p, v)
	}
}

// alertTypes assigns every alert type to one chain. The user's chains come first and take types from built-in chains.
func (v *validator) alertTypes() {
	v.chainOf = map[string]string{}
	for _, ours := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(v.AgentChains)) {
			p := entryPath("agent_chains", name)
			if v.BuiltIn(p) != ours {
				continue
			}
			for i, alertType := range v.AgentChains[name].AlertTypes {
				v.alertType(p.Key("alert_types").Index(i), name, alertType)
			}
		}
	}
}

func (v *validator) alertType(p path, chain, alertType string) {
	owner, taken := v.chainOf[alertType]
	switch {
	case alertType == "":
		v.Errorf(p, "an alert type must not be empty")
	case !taken:
		v.chainOf[alertType] = chain
	case !v.BuiltIn(p):
		v.Errorf(p, "the alert type %q already belongs to the chain %q", alertType, owner)
	}
}

// variables reports variables that are missing from the environment: an error if the entry is used, and a warning if
// nothing that the user wrote needs it.
func (v *validator) variables() {
	users := v.users()
	for _, u := range v.Unset {
		if !v.served(u.Path) {
			continue
		}
		switch used := len(users[u.Path.Entry]) > 0 || !optional(u.Path); {
		case used && !v.BuiltIn(u.Path):
			v.Errorf(u.Path, "variable %s is not set", u.Name)
		case used:
			v.Add(config.SeverityWarning, u.Path, "variable %s is not set", u.Name)
		default:
			v.Add(config.SeverityWarning, u.Path, "variable %s is not set (no chain uses it)", u.Name)
		}
	}
	for _, u := range v.Unset {
		v.Silence(u.Path) // do not report consequences of a missing value
	}
}

// optional reports whether p is within an entry that may be unused.
func optional(p path) bool {
	for _, section := range []string{"agents", "mcp_servers", "llm_providers"} {
		if strict.Parent(p.Entry) == section {
			return true
		}
	}
	return false
}

func validateDefaults(d *config.Defaults, p path, v *validator) {
	v.provider(p.Key("llm_provider"), d.LLMProvider)
	v.runbook(p.Key("runbook"), d.Runbook)
	v.provider(p.Key("executive_summary_provider"), d.ExecutiveSummaryProvider)
	summing.check(p.Key(summing.key), v, d.ExecutiveSummary)
	scoring.check(p.Key(scoring.key), v, d.Scoring)
	if _, ok := v.chainOf[d.AlertType]; d.AlertType != "" && !ok {
		v.Errorf(p.Key("alert_type"), "no chain has the alert type %q", d.AlertType)
	}
}

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
		return strict.Vocabulary{
			Words:   []string{config.BackendLangChain, config.BackendNativeGemini},
			Aliases: []string{backendGoogleNative, backendNative},
		}
	case "api":
		return words(config.APIChatCompletions, config.APIResponses)
	case "driver":
		return words(config.DriverGenAI, config.DriverGenerativeAI)
	case "reasoning effort":
		return strict.Vocabulary{Words: []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}}
	case "transport":
		return strict.Vocabulary{Words: []string{config.TransportStdio, config.TransportHTTP, config.TransportSSE}, Aliases: streamableHTTP}
	case "success policy":
		return words(plan.SuccessAny, plan.SuccessAll)
	case "embedding provider":
		return words(config.EmbeddingGoogle, config.EmbeddingOpenAI)
	case "join":
		return words(config.JoinAll, config.JoinAny)
	case "on expiry":
		return words(config.OnExpiryEnd, config.OnExpiryContinue)
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
		return words(config.RoleViewer, config.RoleOperator, config.RoleApprover, config.RoleAdmin)
	case "webhook format":
		return strict.Vocabulary{Words: webhook.FormatNames()}
	case "signature scheme":
		return strict.Vocabulary{Words: webhook.SchemeNames()}
	case "mcp decide":
		return words(config.DecideNever, config.DecideAsk, config.DecideTrust)
	case "slack mode":
		return words(config.SlackSocket, config.SlackHTTP)
	case "notification channel":
		return words(config.NotifyWebhook, config.NotifyMattermost, config.NotifyTeams, config.NotifyEmail, config.NotifySlack)
	case "notification event":
		return words(config.EventStarted, config.EventWaiting, config.EventFinished)
	case "mail encryption":
		return words(config.MailStartTLS, config.MailImplicit, config.MailNone)
	case "tainted writes":
		return words(plan.TaintedAllow, plan.TaintedDestructive, plan.TaintedWriting)
	case "repeats":
		return words(plan.RepeatsAllow, plan.RepeatsAsk, plan.RepeatsDeny)
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

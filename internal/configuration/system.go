package configuration

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// defaultMaxData is about 64,000 tokens, which each agent is shown with every call.
const defaultMaxData = 256 << 10

// MaxData returns the maximum size of a request's data, in bytes.
func (c *Config) MaxData() int { return cmp.Or(value(c.System.Limits.Data), defaultMaxData) }

func validateStore(s config.Store, p path, v *validator) {
	if s.SQLite != "" && s.Postgres.DSN != "" {
		v.Errorf(p, "set either sqlite or postgres, not both")
	}
}

// StoreTarget is the store to open. The zero value means that none is configured.
type StoreTarget struct {
	SQLite   string // path
	Postgres string // connection string or URL, with its secrets
}

// String hides the connection string.
func (t StoreTarget) String() string {
	if t.Postgres != "" {
		return "PostgreSQL"
	}
	return t.SQLite
}

// Store returns the configured store, with variables expanded from the current environment. An error names the
// variable, never a value.
func (c *Config) Store() (StoreTarget, error) {
	dsn, missing, err := c.expand(c.System.Store.Postgres.DSN)
	switch {
	case err != nil:
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: %w", err)
	case len(missing) > 0:
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: variables that are not set: %s", strings.Join(missing, ", "))
	case dsn == "" && c.System.Store.Postgres.DSN != "":
		return StoreTarget{}, fmt.Errorf("system.store.postgres.dsn: %s is empty", c.System.Store.Postgres.DSN)
	}
	return StoreTarget{SQLite: c.System.Store.SQLite, Postgres: dsn}, nil
}

// ToolsAlone reports whether the workers of a queue run only the tools of the servers that name the queue.
func (c *Config) ToolsAlone(queue string) bool { return len(c.ServersOf(queue)) > 0 }

// TaskQueues returns the queues that servers name, sorted.
func (c *Config) TaskQueues() (queues []string) {
	for _, s := range c.MCPServers {
		if s.TaskQueue != "" && s.TaskQueue != plan.MainQueue && !slices.Contains(queues, s.TaskQueue) {
			queues = append(queues, s.TaskQueue)
		}
	}
	slices.Sort(queues)
	return queues
}

// ServersOf returns the servers whose tools run on a queue other than the main one, sorted.
func (c *Config) ServersOf(queue string) (names []string) {
	if queue == "" || queue == plan.MainQueue {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if c.MCPServers[name].TaskQueue == queue {
			names = append(names, name)
		}
	}
	return names
}

// served reports whether the worker that loads the configuration uses the entry at p. A server's tools run on the
// workers of its queue, and agents on all other workers.
func (c *Config) served(p path) bool {
	if c.src.TaskQueue == "" {
		return true
	}
	// any order: one server has the name
	for name, server := range c.MCPServers {
		if entryPath("mcp_servers", name).Text == p.Entry && server.TaskQueue != "" {
			return server.TaskQueue == c.src.TaskQueue
		}
	}
	return !optional(p) || !c.ToolsAlone(c.src.TaskQueue)
}

// credentials checks the token for runbooks, and the key of every provider that a chain uses. If both the chain and the
// provider are built in, the user asked for neither, and a missing key is only a warning.
func (v *validator) credentials() {
	v.runbookToken()
	v.embeddingKey()
	users := v.users()
	for _, name := range slices.Sorted(maps.Keys(v.LLMProviders)) {
		p := entryPath("llm_providers", name)
		problem := v.KeyProblem(plannedProvider(v.LLMProviders[name], name, config.BackendLangChain, config.NativeTools{}))
		chains := users[p.Text]
		if problem == "" || len(chains) == 0 {
			continue
		}
		mine := slices.IndexFunc(chains, func(chain string) bool { return !v.BuiltIn(entryPath("agent_chains", chain)) })
		switch {
		case !v.BuiltIn(p):
			v.Errorf(p.Key("api_key_env"), "%s", problem)
		case mine >= 0:
			v.Errorf(entryPath("agent_chains", chains[mine]), "%s", problem)
		default:
			v.Add(config.SeverityWarning, p, "%s", problem)
		}
	}
}

// KeyProblem describes a problem with a provider's credentials, without revealing them. It returns an empty string if
// there is none.
func (c *Config) KeyProblem(p plan.Provider) string {
	if p.Type == config.ProviderSelector {
		if slices.Contains(c.src.Selectors, p.Model) {
			return ""
		}
		return fmt.Sprintf("provider %q: unknown selector %q%s; available in the workers' program: %s",
			p.Name, p.Model, spell.DidYouMean(p.Model, c.src.Selectors), registered(c.src.Selectors))
	}
	name, _, _ := strings.Cut(p.Name, ":") // from name:model
	if slices.Contains(c.src.Models, name) || slices.Contains(c.src.Models, "*") {
		return ""
	}
	if p.Type == config.ProviderProgram {
		return fmt.Sprintf("provider %q: the workers' program has no model client with this name%s; available: %s",
			p.Name, spell.DidYouMean(name, c.src.Models), registered(c.src.Models))
	}
	if !variableName.MatchString(p.APIKeyEnv) {
		return "" // no key is needed, or the problem was reported already
	}
	switch key, ok := c.env(p.APIKeyEnv); {
	case !ok:
		return fmt.Sprintf("provider %q needs a key: variable %s is not set", p.Name, p.APIKeyEnv)
	case key == "":
		return fmt.Sprintf("provider %q needs a key: variable %s is empty", p.Name, p.APIKeyEnv)
	}
	return ""
}

// missingKey refuses an agent whose provider has no key, as a worker refuses an agent in YAML.
func (c maker) missingKey(name string) virtual.Problems {
	provider, known := c.LLMProviders[c.models[name]]
	if !known || c.src.SkipCredentials {
		return nil // make has reported an unknown model
	}
	if problem := c.KeyProblem(plannedProvider(provider, c.models[name], config.BackendLangChain, config.NativeTools{})); problem != "" {
		return virtual.Problems{"config.default_model: " + problem}
	}
	return nil
}

// Needs are the external requirements of a configuration's chains.
type Needs struct {
	Models  []plan.Provider // each once, by name
	Servers []plan.Server   // by name, without built-in servers
	BuiltIn bool            // the user has no chains, so the models are those of the built-in chains
}

// Needs returns the needs of the user's chains, or those of the built-in chains if the user has none.
func (c *Config) Needs() (n Needs) {
	chains := slices.Sorted(maps.Keys(c.AgentChains))
	mine := slices.DeleteFunc(slices.Clone(chains), func(name string) bool { return c.report.BuiltIn(entryPath("agent_chains", name)) })
	if n.BuiltIn = len(mine) == 0; !n.BuiltIn {
		chains = mine
	}
	for _, chain := range chains {
		for _, agent := range AgentsOf(c, chain) {
			n.Models = append(n.Models, agent.Providers...)
		}
	}
	n.Models = slices.DeleteFunc(n.Models, func(p plan.Provider) bool { return p.Type == config.ProviderSelector })
	slices.SortFunc(n.Models, func(a, b plan.Provider) int { return strings.Compare(a.Name, b.Name) })
	n.Models = slices.CompactFunc(n.Models, func(a, b plan.Provider) bool { return a.Name == b.Name })
	for _, s := range c.ToolPlan().Servers {
		if !c.report.BuiltIn(entryPath("mcp_servers", s.Name)) {
			n.Servers = append(n.Servers, s)
		}
	}
	return n
}

func validateSystem(s config.System, p path, v *validator) {
	u, err := url.Parse(s.DashboardURL)
	if s.DashboardURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		v.Errorf(p.Key("dashboard_url"), "a URL is required, such as https://inquest.example.com")
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		v.Errorf(p.Key("timezone"), "unknown time zone %q; a name such as Europe/Berlin or UTC is required", s.Timezone)
	}
	if s.WorkingHours != "" {
		if _, _, err := plan.HoursOf(s.WorkingHours); err != nil {
			v.Errorf(p.Key("working_hours"), "%v", err)
		}
	}
	for n, name := range s.Weekend {
		if !plan.IsDay(name) {
			v.Errorf(p.Key("weekend").Index(n), "a day of the week in English is required, such as Saturday")
		}
	}
}

func validateHoliday(h config.Holiday, p path, v *validator) {
	if problem := plan.Holiday(h).Check(); problem != "" {
		v.Errorf(p.Key("date"), "%s", problem)
	}
	if strings.TrimSpace(h.Name) == "" {
		v.Errorf(p.Key("name"), "is required")
	}
}

// plannedCalendar returns the calendar for the prompts of agents; zero if nothing about it is set.
func plannedCalendar(s config.System) plan.Calendar {
	if s.Timezone == "" && s.WorkingHours == "" && s.Weekend == nil && len(s.Holidays) == 0 {
		return plan.Calendar{}
	}
	c := plan.Calendar{Timezone: s.Timezone, Hours: s.WorkingHours, Weekend: s.Weekend}
	if s.Weekend == nil {
		c.Weekend = []string{"Saturday", "Sunday"}
	}
	for _, h := range s.Holidays {
		c.Holidays = append(c.Holidays, plan.Holiday(h))
	}
	return c
}

package configuration

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
)

func validateAgent(a *config.Agent, p path, v *validator) {
	v.name(p)
	validateSource(a, p, v)
	v.servers(p.Key("mcp_servers"), a.MCPServers)
	validatePrompt(a, p.Key("system_prompt"), v)
	validateTools(a, p.Key("tool_ids"), v)
	validateMemoryBlocks(a, p.Key("memory_blocks"), v)
	validateHeartbeats(a, p.Key("heartbeat_interval"), v)
	v.subAgents(p, a.SubAgents, p.Name)
	v.skilled(p, p.Name, a.Skills, a.RequiredSkills)
	v.thinks(p.Key("thinking"), a.Thinking)
	row, ok := agent.LookupType(a.Type)
	if ok && value(a.Shell.Enabled) && !slices.Contains(row.Tools, agent.ToolShell) {
		v.Errorf(p.Key("shell").Key("enabled"), "an agent of type %q has no shell", row.Name)
	}
	if instructions := a.SystemPrompt + a.CustomInstructions; row.JSON && row.Pattern.Model() &&
		prose.MatchString(instructions) && !structured.MatchString(instructions) {
		v.Add(config.SeverityWarning, p.Key("type"), "an agent of type %q replies with one JSON object, but its instructions ask "+
			"for prose: remove type to get a report in Markdown, or name the object's fields in the instructions", row.Name)
	}
}

// prose matches instructions that ask for text. structured matches those that ask for an object or name one of its
// fields.
var (
	prose      = regexp.MustCompile(`(?i)\b(report|markdown|prose|paragraphs?|sentences?|headings?|bullets?|essay|letter)\b`)
	structured = regexp.MustCompile(`(?i)\bjson\b|\b(object|fields?|keys?)\b|"\w+"`)
)

// agentRow returns the agent's row of the type table, or the zero row if there is none.
func agentRow(a *config.Agent) agent.Type {
	row, _ := agent.LookupType(a.Type)
	return row
}

// notEmpty returns nil for an empty list. A nil list counts as not set, so it clears nothing.
func notEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// minHeartbeatInterval keeps an agent from calling itself constantly: every heartbeat is at least one model call.
const minHeartbeatInterval = plan.Duration(time.Minute)

func validateHeartbeats(a *config.Agent, p path, v *validator) {
	if a.HeartbeatInterval == 0 {
		return
	}
	if row, ok := agent.LookupType(a.Type); ok && !row.Heartbeats {
		v.Errorf(p, "an agent of type %q has no heartbeats", row.Name)
	}
	if a.HeartbeatInterval < minHeartbeatInterval {
		v.Errorf(p, "must be 1m or longer, got %s", a.HeartbeatInterval)
	}
}

// Clients do not know the names that the workers' program has registered. They only warn of names that a worker would refuse.

// unknown is the severity of a name that this program does not know.
func (v *validator) unknown() config.Severity {
	if v.src.SkipCredentials {
		return config.SeverityWarning
	}
	return config.SeverityError
}

// hook checks the name of a hook. An empty name means none.
func (v *validator) hook(p path, name string) {
	switch {
	case name == "" || slices.Contains(v.src.Hooks, name):
	case v.src.SkipCredentials:
		v.Add(config.SeverityWarning, p, "%q cannot be checked here, because hooks are registered in the workers' program", name)
	default:
		v.Errorf(p, "unknown hook %q%s; available in this program: %s",
			name, spell.DidYouMean(name, v.src.Hooks), registered(v.src.Hooks))
	}
}

// mock checks the name of a mock. An empty name means none. If the mock is missing, the agent itself works.
func (v *validator) mock(p path, name string) {
	if name != "" && !slices.Contains(v.src.Mocks, name) && !v.src.SkipCredentials {
		v.Add(config.SeverityWarning, p, "unknown mock %q%s, so the agent itself runs; available in this program: %s",
			name, spell.DidYouMean(name, v.src.Mocks), registered(v.src.Mocks))
	}
}

// prompt checks the name of a prompt. An empty name means none.
func (v *validator) prompt(p path, name string) {
	known := slices.AppendSeq(slices.Clone(v.src.PromptFuncs), maps.Keys(v.Prompts))
	if name != "" && !slices.Contains(known, name) {
		v.Add(v.unknown(), p, "unknown prompt %q%s; available: %s",
			name, spell.DidYouMean(name, known), registered(known))
	}
}

// prompts checks the texts of the prompts.
func (v *validator) prompts() {
	for _, name := range slices.Sorted(maps.Keys(v.Prompts)) {
		p := entryPath("prompts", name)
		v.name(p)
		if err := prompt.Check(v.Prompts[name]); err != nil {
			v.Errorf(p, "%v", err)
		}
	}
}

// validatePrompt checks the agent's system_prompt.
func validatePrompt(a *config.Agent, p path, v *validator) {
	if a.SystemPrompt == "" {
		return
	}
	if row := agentRow(a); !row.Pattern.Model() {
		v.Errorf(p, "agents of type %q do not use a model", row.Name)
	}
	if err := prompt.Check(a.SystemPrompt); err != nil {
		v.Errorf(p, "%v", err)
	}
}

// registered lists the registered names, for messages.
func registered(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// validateTools checks tool_ids. Clients do not know the tools that workers have registered, so they only warn of names
// that a worker would refuse.
func validateTools(a *config.Agent, p path, v *validator) {
	if row := agentRow(a); len(a.ToolIDs) > 0 && !row.Pattern.Tools() {
		v.Errorf(p, "an agent of type %q has no tools", row.Name)
	}
	for i, name := range a.ToolIDs {
		switch at := p.Index(i); {
		case name == config.AllTools && len(a.ToolIDs) == 1:
		case name == config.AllTools:
			v.Errorf(at, "%q stands for all tools of the program: list it alone, or remove it", config.AllTools)
		case slices.Index(a.ToolIDs, name) < i:
			v.Errorf(at, "tool %q is listed twice", name)
		case !slices.Contains(v.src.Tools, name):
			v.Add(v.unknown(), at, "unknown tool %q%s; available in this program: %s",
				name, spell.DidYouMean(name, v.src.Tools), registered(v.src.Tools))
		}
	}
}

// toolIDs returns the registered tools of an agent, with AllTools replaced by their names. It returns nil if the agent has none
// or is not defined.
func (c *content) toolIDs(definition string) []string {
	def, ok := c.Agents[definition]
	switch {
	case !ok:
		return nil
	case slices.Equal(def.ToolIDs, []string{config.AllTools}):
		return notEmpty(slices.Sorted(slices.Values(c.src.Tools)))
	}
	return notEmpty(def.ToolIDs)
}

func validateMemoryBlocks(a *config.Agent, p path, v *validator) {
	row, ok := agent.LookupType(a.Type)
	if ok && len(a.MemoryBlocks) > 0 && !row.Remembers() {
		v.Errorf(p, "an agent of type %q has no memory", row.Name)
	}
	if n := len(a.MemoryBlocks); n > agent.MaxMemoryBlocks {
		v.Errorf(p, "at most %d memory blocks are allowed, got %d", agent.MaxMemoryBlocks, n)
	}
	labels := map[string]bool{}
	for i, b := range a.MemoryBlocks {
		label := p.Index(i).Key("label")
		if problem := plannedMemoryBlock(b).LabelProblem(); problem != "" {
			v.Errorf(label, "%s", problem)
		} else if labels[b.Label] {
			v.Errorf(label, "two memory blocks have the label %q", b.Label)
		}
		labels[b.Label] = true
		if plannedMemoryBlock(b).Limit > 0 && plannedMemoryBlock(b).SizeProblem() != "" { // an invalid limit is reported elsewhere
			v.Errorf(p.Index(i).Key("value"), "%s", plannedMemoryBlock(b).SizeProblem())
		}
	}
}

// completeMemoryBlock fills in the defaults.
func completeMemoryBlock(b config.MemoryBlock) config.MemoryBlock {
	if b.Limit == nil {
		b.Limit = new(agent.DefaultMemoryLimit)
	}
	return b
}

func plannedMemoryBlock(b config.MemoryBlock) agent.MemoryBlock {
	return agent.MemoryBlock{
		Label: b.Label, Value: b.Value, Description: b.Description, Limit: value(completeMemoryBlock(b).Limit), ReadOnly: value(b.ReadOnly),
	}
}

func memoryBlocks(a *config.Agent) (blocks []agent.MemoryBlock) {
	for _, b := range a.MemoryBlocks {
		blocks = append(blocks, plannedMemoryBlock(b))
	}
	return blocks
}

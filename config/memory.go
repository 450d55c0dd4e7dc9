package config

import "github.com/inquest-dev/inquest/internal/agent"

// MemoryBlock is a part of an agent's memory (spec: agents, "Memory"). It is created when the agent first reads its
// memory. From then on the configuration no longer changes it, unless it is read-only.
type MemoryBlock struct {
	// Label is the block's name, in the prompt and for the agent's tools; required.
	Label string `yaml:"label"`
	// Value is the initial value of the block.
	Value string `yaml:"value"`
	// Description tells the agent the purpose of the block.
	Description string `yaml:"description"`
	// Limit is the maximum length of the value.
	Limit *int `yaml:"limit" min:"1" unit:"characters" default:"20000"`
	// ReadOnly prevents the agent from changing the block, which then follows the configuration.
	ReadOnly *bool `yaml:"read_only" default:"false"`
}

func (a *Agent) validateMemory(p path, v *validator) {
	row, ok := agent.LookupType(a.Type)
	if ok && len(a.MemoryBlocks) > 0 && !row.Remembers() {
		v.Errorf(p, "an agent of type %q has no memory", row.Name)
	}
	if n := len(a.MemoryBlocks); n > agent.MaxMemoryBlocks {
		v.Errorf(p, "at most %d memory blocks are possible, got %d", agent.MaxMemoryBlocks, n)
	}
	labels := map[string]bool{}
	for i, b := range a.MemoryBlocks {
		label := p.Index(i).Key("label")
		if problem := b.plan().LabelProblem(); problem != "" {
			v.Errorf(label, "%s", problem)
		} else if labels[b.Label] {
			v.Errorf(label, "there are two memory blocks with the label %q", b.Label)
		}
		labels[b.Label] = true
		if b.plan().Limit > 0 && b.plan().SizeProblem() != "" { // an invalid limit is reported elsewhere
			v.Errorf(p.Index(i).Key("value"), "%s", b.plan().SizeProblem())
		}
	}
}

// complete fills in the defaults.
func (b MemoryBlock) complete() MemoryBlock {
	if b.Limit == nil {
		b.Limit = new(agent.DefaultMemoryLimit)
	}
	return b
}

func (b MemoryBlock) plan() agent.MemoryBlock {
	return agent.MemoryBlock{
		Label: b.Label, Value: b.Value, Description: b.Description, Limit: value(b.complete().Limit), ReadOnly: value(b.ReadOnly),
	}
}

func (a *Agent) memory() (blocks []agent.MemoryBlock) {
	for _, b := range a.MemoryBlocks {
		blocks = append(blocks, b.plan())
	}
	return blocks
}

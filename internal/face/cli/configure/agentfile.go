package configure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
)

// agentVersion is the version of the file format. Later formats have a different number.
const agentVersion = "inquest.agent/1"

// agentFile is the file format of an agent with its memory.
type agentFile struct {
	Version string `json:"version"`
	Name    string `json:"name"`
	// Definition is the agent's entry as written in the user's configuration. Built-in agents have none.
	Definition json.RawMessage  `json:"definition,omitempty"`
	Memory     *memory.Snapshot `json:"memory,omitempty"`
}

func readAgentFile(path string) (f agentFile, err error) {
	in, err := os.Open(path)
	if err != nil {
		return f, base.Usagef("%w", err)
	}
	defer in.Close()
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, base.Usagef("read an agent from %s: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return f, base.Usagef("%s: unexpected data after the JSON object", path)
	}
	switch {
	case f.Version != agentVersion:
		return f, base.Usagef("%s: unsupported version %q, expected %q", path, f.Version, agentVersion)
	case f.Name == "":
		return f, base.Usagef("%s: the agent has no name", path)
	case f.Memory != nil:
		if err := f.Memory.Validate(); err != nil {
			return f, base.Usagef("%s: %w", path, err)
		}
	}
	return f, nil
}

// loadOwn loads the configuration that the agent belongs to.
func loadOwn(c *base.CLI) (src configuration.Source, cfg *configuration.Config, err error) {
	if src, err = c.Source(); err != nil {
		return src, nil, err
	}
	if cfg, err = configuration.Load(src); err != nil {
		return src, nil, base.Usagef("%w", err)
	}
	return src, cfg, nil
}

// exportAgent returns an agent as a file.
func exportAgent(ctx context.Context, c *base.CLI, name string) (f agentFile, err error) {
	_, cfg, err := loadOwn(c)
	if err != nil {
		return f, err
	}
	plan, err := cfg.AgentPlan(name)
	if err != nil {
		return f, base.Usagef("%w", err)
	}
	f = agentFile{Version: agentVersion, Name: name}
	if f.Definition, err = configuration.AgentEntry(c.Config, name); err != nil || !remembers(plan) {
		return f, err
	}
	st, err := memories(ctx, c)
	if err != nil {
		return f, err
	}
	saved, err := st.ExportMemory(ctx, name)
	if errors.Is(err, record.ErrNotFound) {
		return f, nil
	}
	f.Memory = &saved
	return f, err
}

// importAgent writes the agent's definition, unless there is one already, and its memory: either both or nothing.
func importAgent(ctx context.Context, c *base.CLI, f agentFile, replace bool) error {
	written, err := importDefinition(c, f)
	if err == nil && f.Memory != nil {
		err = loadMemory(ctx, c, f.Name, *f.Memory, replace)
	}
	switch {
	case written != "" && err != nil:
		return errors.Join(err, os.Remove(written))
	case written != "":
		c.Say("definition of %s written to %s", f.Name, written)
	}
	return err
}

// importDefinition writes the definition into the configuration. The path is empty if the definition is there already.
func importDefinition(c *base.CLI, f agentFile) (written string, err error) {
	src, cfg, err := loadOwn(c)
	if err != nil {
		return "", err
	}
	if f.Definition == nil {
		if _, ok := cfg.Agents[f.Name]; !ok {
			return "", base.Usagef("agent %s is defined neither in the file nor in the configuration", f.Name)
		}
		return "", nil
	}
	there, err := configuration.AgentEntry(c.Config, f.Name)
	switch {
	case err != nil:
		return "", err
	case there != nil && !sameJSON(there, f.Definition):
		return "", base.Usagef("the configuration already defines a different agent named %s: rename one of the two, or remove "+
			"the definition in %s", f.Name, c.Config)
	case there != nil:
		return "", nil
	}
	if info, err := os.Stat(c.Config); err != nil || !info.IsDir() {
		return "", base.Usagef("--config %q is not a directory: give the directory for the definition of %s", c.Config, f.Name)
	}
	if written, err = configuration.WriteAgent(src, f.Name, f.Definition); err != nil {
		return "", base.Usagef("cannot add the definition: %w", err)
	}
	return written, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

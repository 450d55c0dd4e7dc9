package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/store"
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
		return f, usagef("%w", err)
	}
	defer in.Close()
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, usagef("read an agent from %s: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return f, usagef("%s: something follows the JSON object", path)
	}
	switch {
	case f.Version != agentVersion:
		return f, usagef("%s: the version is %q, and must be %q", path, f.Version, agentVersion)
	case f.Name == "":
		return f, usagef("%s: the agent has no name", path)
	case f.Memory != nil:
		if err := f.Memory.Validate(); err != nil {
			return f, usagef("%s: %w", path, err)
		}
	}
	return f, nil
}

// loadOwn loads the configuration that the agent belongs to.
func loadOwn(c *cli) (src config.Source, cfg *config.Config, err error) {
	if src, err = c.source(); err != nil {
		return src, nil, err
	}
	if cfg, err = config.Load(src); err != nil {
		return src, nil, usagef("%w", err)
	}
	return src, cfg, nil
}

// exportAgent returns an agent as a file.
func exportAgent(ctx context.Context, c *cli, name string) (f agentFile, err error) {
	_, cfg, err := loadOwn(c)
	if err != nil {
		return f, err
	}
	plan, err := cfg.AgentPlan(name)
	if err != nil {
		return f, usagef("%w", err)
	}
	f = agentFile{Version: agentVersion, Name: name}
	if f.Definition, err = config.AgentEntry(c.config, name); err != nil || !remembers(plan) {
		return f, err
	}
	st, err := memories(ctx, c)
	if err != nil {
		return f, err
	}
	saved, err := st.ExportMemory(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return f, nil
	}
	f.Memory = &saved
	return f, err
}

// importAgent writes the agent's definition, unless there is one already, and its memory: either both or nothing.
func importAgent(ctx context.Context, c *cli, f agentFile, replace bool) error {
	written, err := importDefinition(c, f)
	if err == nil && f.Memory != nil {
		err = loadMemory(ctx, c, f.Name, *f.Memory, replace)
	}
	switch {
	case written != "" && err != nil:
		return errors.Join(err, os.Remove(written))
	case written != "":
		c.say("definition of %s written to %s", f.Name, written)
	}
	return err
}

// importDefinition writes the definition into the configuration. The path is empty if the definition is there already.
func importDefinition(c *cli, f agentFile) (written string, err error) {
	src, cfg, err := loadOwn(c)
	if err != nil {
		return "", err
	}
	if f.Definition == nil {
		if _, ok := cfg.Agents[f.Name]; !ok {
			return "", usagef("the file has no definition of %s, and the configuration has no such agent", f.Name)
		}
		return "", nil
	}
	there, err := config.AgentEntry(c.config, f.Name)
	switch {
	case err != nil:
		return "", err
	case there != nil && !sameJSON(there, f.Definition):
		return "", usagef("the configuration has another agent named %s: rename one of them, or remove the one in %s", f.Name, c.config)
	case there != nil:
		return "", nil
	}
	if info, err := os.Stat(c.config); err != nil || !info.IsDir() {
		return "", usagef("--config %q is no folder: say where the definition of %s is to be written", c.config, f.Name)
	}
	if written, err = config.WriteAgent(src, f.Name, f.Definition); err != nil {
		return "", usagef("the definition does not fit into the configuration: %w", err)
	}
	return written, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/scripted"
	"github.com/inquest-dev/inquest/internal/sample/actor"
)

// packScript returns the name of the script, and of the chain, that replays a pack's demo.
func packScript(name string) string { return "pack-" + name }

// scripts returns the scripted models: the sample incident's, and those of the packs' demos.
func scripts() map[string]llm.Client {
	options := scripted.Options{Pace: samplePace}
	all := map[string]llm.Client{"scripted:sample": scripted.New("sample", actor.Model, options)}
	for _, p := range pack.All() {
		if demo, ok := p.Demo(); ok {
			name := packScript(p.Name)
			all["scripted:"+name] = scripted.New(name, actor.Recorded(demo), options)
		}
	}
	return all
}

// packDemo writes the configuration of a pack's demo below the data folder, and returns its path and the alert.
func packDemo(data, name string) (path, alert string, err error) {
	p, ok := pack.Named(name)
	demo, found := p.Demo()
	if !ok || !found {
		return "", "", &command.UsageError{Err: fmt.Errorf("--pack: no pack %q%s; available: %s",
			name, spell.DidYouMean(name, pack.Names()), strings.Join(pack.Names(), ", "))}
	}
	text, err := json.Marshal(packConfiguration(p)) // JSON is YAML
	if err != nil {
		return "", "", err
	}
	if data, err = command.DataFolder(data); err != nil {
		return "", "", err
	}
	path = filepath.Join(data, "packs", name+".yaml")
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return path, demo.Alert, err
}

// packConfiguration is what init writes for a pack, with the demo's server and the scripted model.
func packConfiguration(p pack.Pack) map[string]any {
	type section = map[string]any
	agents := pack.Agents()
	a := agents[slices.IndexFunc(agents, func(a pack.Agent) bool { return a.Name == p.Agent })]
	script := packScript(p.Name)
	return section{
		"llm_providers": section{"demo": section{"type": "scripted", "model": script}},
		"defaults":      section{"llm_provider": "demo", "tool_config": section{"access_level": "read"}},
		"mcp_servers": section{p.Name: section{
			"instructions": p.Instructions, "trust_annotations": true,
			"transport": section{
				"type": "stdio", "command": "{{." + command.VariableExecutable + "}}", "args": []string{"mcp-pack", p.Name},
			},
		}},
		"agents": section{a.Name: section{
			"description": a.Description, "custom_instructions": a.Instructions, "mcp_servers": []string{p.Name},
		}},
		"agent_chains": section{script: section{
			"alert_types": []string{script},
			"stages":      []section{{"name": "investigate", "agents": []section{{"name": a.Name}}}},
		}},
	}
}

package app

import (
	"cmp"
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/workflows"
)

// Embedding is what another program adds to the worker that it embeds.
type Embedding struct {
	// Tools are written in Go; agents name them in tool_ids.
	Tools []builtin.Tool
	// Hooks and Mocks are the functions that stages and their agents name.
	Hooks map[string]hook.Func
	Mocks map[string]hook.Mock
	// Prompts are the functions that write system prompts.
	Prompts map[string]hook.Prompt
	// Selectors are the functions that choose models.
	Selectors map[string]hook.Selector
	// Listener is called after activities have committed; nil means no listener.
	Listener func(Event)
	// Entries are agents, chains and their dependencies, in addition to those of the files.
	Entries config.Entries
}

// source returns the source of the host's configuration.
func (o HostOptions) source() configuration.Source {
	src := configuration.Source{
		Dir: o.Config, Env: command.Env(o.Data), TaskQueue: cmp.Or(o.TaskQueue, workflows.TaskQueue), SkipCredentials: o.Evaluation != nil,
	}
	if e := o.Embedding; e != nil {
		src.Entries, src.Env = e.Entries, withoutExecutable(src.Env)
		src.Hooks, src.Mocks = slices.Sorted(maps.Keys(e.Hooks)), slices.Sorted(maps.Keys(e.Mocks))
		src.PromptFuncs = slices.Sorted(maps.Keys(e.Prompts))
		src.Selectors = slices.Sorted(maps.Keys(e.Selectors))
		src.Models = slices.Sorted(maps.Keys(o.Models))
		for _, t := range e.Tools {
			src.Tools = append(src.Tools, t.Spec.Name)
		}
	}
	return src
}

// withoutExecutable hides the path of our executable. The server of the sample incident is another process of our program, and no
// other program may be started in its place.
func withoutExecutable(env configuration.Env) configuration.Env {
	return func(name string) (string, bool) {
		if name == command.VariableExecutable {
			return "", false
		}
		return env(name)
	}
}

// Check reads the configuration. If anything in it is invalid, the error is config.Findings.
func (o HostOptions) Check() error {
	_, err := configuration.Load(o.source())
	return err
}

// standalone reports whether the worker is the purpose of its process.
func (s Settings) standalone() bool { return s.Embedding == nil && s.Evaluation == nil }

// embedding returns the additions of the embedding program.
func (s Settings) embedding() Embedding { return *cmp.Or(s.Embedding, &Embedding{}) }

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
)

// hints returns a command to type in another terminal. If this process has other addresses than the defaults, an export
// precedes it.
func (s *system) hints(f flags, then string) string {
	known := defaults()
	var exports []string
	export := func(name, value, fallback string) {
		if value != fallback {
			exports = append(exports, name+"="+command.ShellWord(value))
		}
	}
	export("TEMPORAL_ADDRESS", s.server.Address(), known.Listen)
	export("INQUEST_STORE", s.storePath, known.host.DefaultStore)
	if ui := s.server.UIAddress(); ui != "" {
		export("INQUEST_UI", "http://"+ui, "http://"+known.UI)
	}
	if f.host.Config != "" && os.Getenv("INQUEST_CONFIG") == "" {
		export("INQUEST_CONFIG", absolute(f.host.Config), "")
	}
	if len(exports) == 0 {
		return then
	}
	return "export " + strings.Join(exports, " ") + "\n  " + then
}

// first returns the first command to type: without a worker, one that starts it.
func (s *system) first(f flags) string {
	if f.noWorker {
		return siblingProgram("worker") + " --store " + command.ShellWord(s.storePath)
	}
	return siblingProgram("starter") + " run " + firstRun(s.host.Config.Current(), f.host.Config, s.data)
}

// firstRun returns the flags of `starter run` for the user's own chain, or for the sample incident if the configuration at path has none.
func firstRun(c *configuration.Config, path, data string) string {
	own := slices.DeleteFunc(c.Chains(), func(chain configuration.ChainInfo) bool { return chain.BuiltIn })
	if len(own) == 0 {
		alert := filepath.Join("examples", "sample-incident", "alert.json")
		if _, err := os.Stat(alert); err != nil {
			alert = filepath.Join(data, "sample-incident", "alert.json")
		}
		return "--alert-type sample-incident --data " + command.ShellWord("@"+alert)
	}
	chain := own[max(0, slices.IndexFunc(own, func(chain configuration.ChainInfo) bool { return len(chain.AlertTypes) > 0 }))]
	flags := "--chain " + command.ShellWord(chain.Name)
	if len(chain.AlertTypes) > 0 {
		flags = "--alert-type " + command.ShellWord(chain.AlertTypes[0])
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	if alert := filepath.Join(path, "alert.json"); path != "" { // init writes it
		if _, err := os.Stat(alert); err == nil {
			return flags + " --data " + command.ShellWord("@"+alert)
		}
	}
	return flags + " --data 'what happened'"
}

// defaults returns what starter assumes without flags.
func defaults() (f flags) {
	f.Listen, f.UI, f.http = "127.0.0.1:7233", "127.0.0.1:8233", "127.0.0.1:8088"
	f.host.DefaultStore, _ = command.DefaultStore()
	return f
}

// siblingProgram returns the command for one of our programs, in the same form as this one was called.
func siblingProgram(name string) string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return "go run ./" + name
	}
	return name
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

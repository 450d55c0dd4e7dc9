package config

import (
	"embed"

	"github.com/inquest-dev/inquest/internal/strict"
)

//go:embed builtin/*.yaml
var builtIn embed.FS

// builtInFiles are the files that every configuration starts from.
func builtInFiles() []strict.File {
	entries, err := builtIn.ReadDir("builtin")
	if err != nil {
		return nil // an embedded directory that compiled is there
	}
	var files []strict.File
	for _, e := range entries {
		name := "builtin/" + e.Name()
		if data, err := builtIn.ReadFile(name); err == nil {
			files = append(files, strict.File{Name: name, Data: data, BuiltIn: true})
		}
	}
	return files
}

// adopt adds what is built in to what the user wrote: an entry of the user's
// replaces one of the same name whole; defaults are inherited one by one.
func (c *Config) adopt(base *Config) {
	c.Defaults, _ = strict.Inherit(base.Defaults, c.Defaults)
	c.Entries, _ = strict.Inherit(base.Entries, c.Entries)
	c.report.Adopt(base.report, "defaults")
}

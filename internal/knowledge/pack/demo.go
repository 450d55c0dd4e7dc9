package pack

import (
	"embed"
	"path"
	"strings"
	"sync"
)

// Demo is an investigation that can be replayed without the system: the alert, the calls of the pack's tools with their answers, and
// the report.
type Demo struct {
	// Source is the server that gave the answers. If they are invented, it is the documentation or the code that shows their form.
	Source string `yaml:"source"`
	// Invented means that no server gave the answers.
	Invented bool `yaml:"invented"`
	// Alert is the data of the request.
	Alert string `yaml:"alert"`
	Calls []Call `yaml:"calls"`
	// Report is what the scripted model concludes from the answers.
	Report string `yaml:"report"`
}

// Call is a call of one of the pack's tools.
type Call struct {
	// Why is what the model says before the call.
	Why       string `yaml:"why"`
	Tool      string `yaml:"tool"`
	Arguments string `yaml:"arguments"` // a JSON object
	// Result is the text that the server returns.
	Result string `yaml:"result"`
}

//go:embed demos/*.yaml
var demoFiles embed.FS

// demos returns the demos by the names of their packs.
var demos = sync.OnceValue(func() map[string]Demo {
	all := map[string]Demo{}
	entries, err := demoFiles.ReadDir("demos")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		var d Demo
		mustDecode(&d, demoFiles, path.Join("demos", entry.Name()))
		all[strings.TrimSuffix(entry.Name(), ".yaml")] = d
	}
	return all
})

// Demo returns the pack's demo.
func (p Pack) Demo() (d Demo, ok bool) {
	d, ok = demos()[p.Name]
	return d, ok
}

// Origin says where the tools' answers are from.
func (d Demo) Origin() string {
	if d.Invented {
		return "The tools' answers are invented, not recorded. Their form follows " + d.Source + "."
	}
	return "The tools' answers are recorded from " + d.Source + "."
}

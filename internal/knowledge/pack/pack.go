// Package pack has the toolset packs: what agents need to read a well-known system through its MCP server.
//
// A pack is a file in packs/. It pins the server unless the vendor hosts it, lists the tools that only read, instructs the model, and
// says what must be there before the server can be used.
package pack

import (
	"cmp"
	"embed"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Pack is the data of one pack. Exactly one of NPM, Go, PyPI and URL is set.
type Pack struct {
	// Name is the name of the pack's file and of its server in a configuration.
	Name string `yaml:"-" json:"name"`
	// Title is the system's name.
	Title string `yaml:"title" json:"title"`
	// Summary says what agents can read with the pack.
	Summary string `yaml:"summary" json:"summary"`
	// Source is the address of the server's code or documentation, without https://.
	Source string `yaml:"source" json:"source"`

	// NPM is the npm package and version, which npx runs.
	NPM string `yaml:"npm" json:"npm,omitempty"`
	// Go is the Go program and version. Its command must be in PATH.
	Go string `yaml:"go" json:"go,omitempty"`
	// PyPI is the Python package and version, which uvx runs.
	PyPI string `yaml:"pypi" json:"pypi,omitempty"`
	// URL is the address of a server that the vendor hosts. Our tests cannot start it.
	URL string `yaml:"url" json:"url,omitempty"`
	// Sites are the hosts of that server in the vendor's other regions. A * stands for the name of a customer.
	Sites []string `yaml:"sites" json:"sites,omitempty"`

	// Args are the arguments of the program.
	Args []string `yaml:"args" json:"args,omitempty"`
	// Env has the environment of the program. {{.NAME}} stands for a variable of the worker.
	Env map[string]string `yaml:"env" json:"env,omitempty"`
	// Bearer is the token for URL, as {{.NAME}}.
	Bearer string `yaml:"bearer_token" json:"bearer_token,omitempty"`
	// Headers are additional headers for URL.
	Headers map[string]string `yaml:"headers" json:"headers,omitempty"`

	// Kubeconfig means that the server needs a kubeconfig with a current context.
	Kubeconfig bool `yaml:"kubeconfig" json:"kubeconfig,omitempty"`
	// Variables are the variables that the worker's environment must have.
	Variables []Variable `yaml:"variables" json:"variables,omitempty"`

	// File is the server's own configuration file, in the folder in which the worker starts. An empty name means that there is none.
	File File `yaml:"file" json:"file,omitzero"`

	// Tools are the tools that agents get. They change nothing.
	Tools []string `yaml:"tools" json:"tools"`
	// Declared means that a tool of Tools only reads if the server says so, because that depends on the user's settings of the server.
	Declared bool `yaml:"declared" json:"declared,omitempty"`
	// Instructions tell the model how to use the tools.
	Instructions string `yaml:"instructions" json:"instructions"`
	// MaskingGroups are the groups of patterns to mask in results. None means those of the whole configuration.
	MaskingGroups []string `yaml:"masking_groups" json:"masking_groups,omitempty"`
	// Agent is the name of the agent that uses the server. See Agents.
	Agent string `yaml:"agent" json:"agent"`
	// Check is the health check.
	Check Check `yaml:"check" json:"check"`
	// Example is a folder with an example of a real system. Empty means that there is none. Every pack has a Demo.
	Example string `yaml:"example" json:"example,omitempty"`
}

// Variable is an environment variable that a server needs.
type Variable struct {
	Name string `yaml:"name" json:"name"`
	// About describes the value.
	About string `yaml:"about" json:"about"`
	// Address means that the variable holds the URL of the system, which must be reachable.
	Address bool `yaml:"address" json:"address,omitempty"`
}

// File is a file that a server needs.
type File struct {
	Name  string `yaml:"name" json:"name"`
	About string `yaml:"about" json:"about"` // what the file must say
}

// Check is a call that reads almost nothing and fails unless the system behind the server answers.
type Check struct {
	Tool      string `yaml:"tool" json:"tool"`
	Arguments string `yaml:"arguments" json:"arguments"` // a JSON object
	// Begins is the beginning of every good result, for servers that do not mark a result as an error. Empty means any result.
	Begins string `yaml:"begins" json:"begins,omitempty"`
	// Answers is the finding if the call succeeds, such as "Prometheus answers".
	Answers string `yaml:"answers" json:"answers"`
	// Remedy says what to do if the call fails. $NAME in it is the address in the variable NAME.
	Remedy string `yaml:"remedy" json:"remedy"`
}

// Agent is an agent that uses the servers of packs.
type Agent struct {
	Name         string `yaml:"name"`
	Description  string `yaml:"description"`
	Instructions string `yaml:"instructions"`
}

//go:embed packs/*.yaml agents.yaml
var files embed.FS

// All returns the packs, by name. The packs must not be changed.
var All = sync.OnceValue(func() (all []Pack) {
	entries, err := files.ReadDir("packs")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		p := Pack{Name: strings.TrimSuffix(entry.Name(), ".yaml")}
		mustDecode(&p, files, path.Join("packs", entry.Name()))
		all = append(all, p)
	}
	return all
})

// Agents returns the agents in the order in which init writes them. They must not be changed.
var Agents = sync.OnceValue(func() []Agent {
	var read struct {
		Agents []Agent `yaml:"agents"`
	}
	mustDecode(&read, files, "agents.yaml")
	return read.Agents
})

// mustDecode reads a file of this package. A test reads all of them.
func mustDecode(into any, files embed.FS, name string) {
	text, err := files.ReadFile(name)
	r := strict.NewReport()
	if err == nil {
		strict.Decode(into, []strict.File{{Name: name, Data: text}}, strict.Variables{}, r)
	}
	if err != nil || r.Findings.Failed() {
		panic(fmt.Sprintf("internal/knowledge/pack: %v %v", err, r.Findings))
	}
}

// Named returns the pack with a name.
func Named(name string) (Pack, bool) {
	n := slices.IndexFunc(All(), func(p Pack) bool { return p.Name == name })
	if n < 0 {
		return Pack{}, false
	}
	return All()[n], true
}

// Names returns the names of all packs.
func Names() (names []string) {
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Command returns the program that starts the server and its arguments. An empty command means that the vendor hosts the server.
func (p Pack) Command() (command string, args []string) {
	switch {
	case p.NPM != "":
		return "npx", append([]string{"-y", p.NPM}, p.Args...)
	case p.PyPI != "":
		return "uvx", append([]string{p.PyPI}, p.Args...)
	case p.Go != "":
		return p.program(), p.Args
	}
	return "", nil
}

// program returns the name of the server's program, without the registry's scope and the version.
func (p Pack) program() string { return path.Base(unversioned(cmp.Or(p.NPM, p.Go, p.PyPI))) }

// unversioned cuts the version off name@version. The @ of an npm scope is not a version.
func unversioned(name string) string {
	if n := strings.LastIndex(name, "@"); n > 0 {
		return name[:n]
	}
	return name
}

// Of returns the pack of a server, by how a configuration starts or reaches the server. The version and the path of a URL do not
// matter. Two packs may share a server: then Of returns the first, because the check of both is the same.
func Of(command string, args []string, address string) (Pack, bool) {
	for _, p := range All() {
		runs := func(arg string) bool { return unversioned(arg) == unversioned(cmp.Or(p.NPM, p.PyPI)) }
		switch {
		case p.URL != "":
			if p.hosts(address) {
				return p, true
			}
		case command != "" && path.Base(command) == p.program(), p.Go == "" && slices.ContainsFunc(args, runs):
			return p, true
		}
	}
	return Pack{}, false
}

// hosts reports whether an address is that of the vendor's server. Only the host counts: people choose toolsets in the path and query.
func (p Pack) hosts(address string) bool {
	theirs, err := url.Parse(address)
	ours, _ := url.Parse(p.URL) // a test parses it
	return err == nil && slices.ContainsFunc(append([]string{ours.Hostname()}, p.Sites...), func(site string) bool {
		ok, _ := path.Match(site, strings.ToLower(theirs.Hostname()))
		return ok
	})
}

// Each calls a function for all packs at once, and returns the results by the packs' names.
func Each[T any](of func(Pack) T) []T {
	found := make([]T, len(All()))
	var group sync.WaitGroup
	for n, p := range All() {
		group.Go(func() { found[n] = of(p) })
	}
	group.Wait()
	return found
}

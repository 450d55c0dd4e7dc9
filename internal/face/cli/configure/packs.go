package configure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
)

// packState is a pack, and whether it can be used on this host.
type packState struct {
	pack.Pack
	Usable  bool     `json:"usable"`
	Missing []string `json:"missing,omitempty"` // why it cannot be used
}

// NewPacks returns the command packs.
func NewPacks(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "packs",
		Short: "List the toolset packs, and missing requirements on this host",
		Long: `List the toolset packs. A pack connects agents to a well-known system through its MCP
server: a pinned version, the read-only tools, and instructions. The vendors host the
servers of datadog, github, jira and pagerduty, so their versions cannot be pinned.

Below a pack that cannot be used from this host, the list says what is missing. The
command only tests whether addresses in variables accept connections; starter doctor also
checks that the system answers. Use a pack with starter init --pack NAME.`,
		Example: "  starter packs",
		Args:    base.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listPacks(cmd.Context(), c) },
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the packs as JSON")
	cmd.AddCommand(packsShowCommand(c))
	return cmd
}

func listPacks(ctx context.Context, c *base.CLI) error {
	all := packStates(ctx, c, true)
	if c.JSON {
		return c.PrintJSON(all)
	}
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{s.Name, map[bool]string{true: "usable", false: "-"}[s.Usable], s.Title + ": " + s.Summary})
		for _, problem := range s.Missing {
			rows = append(rows, []string{"", "", "→ " + problem})
		}
	}
	return base.PrintColumns(c, rows)
}

func packsShowCommand(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a pack: its server, variables, tools and instructions", Args: base.Exactly("NAME"),
		Example: "  starter packs show prometheus",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := knownPacks(args); err != nil {
				return err
			}
			all := packStates(cmd.Context(), c, true)
			s := all[slices.IndexFunc(all, func(s packState) bool { return s.Name == args[0] })]
			if c.JSON {
				return c.PrintJSON(s)
			}
			return base.PrintColumns(c, s.rows())
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the pack as JSON")
	cmd.ValidArgsFunction = cobra.FixedCompletions(pack.Names(), cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// rows returns everything about a pack, for base.PrintColumns.
func (s packState) rows() [][]string {
	command, args := s.Command()
	rows := [][]string{
		{"system", s.Title + ": " + s.Summary},
		{"source", s.Source},
	}
	if s.URL == "" {
		rows = append(rows, []string{"server", commandLine(append([]string{command}, args...))})
	} else {
		rows = append(rows, []string{"server", s.URL + " (hosted by the vendor: the version cannot be pinned)"})
	}
	if len(s.Sites) > 0 {
		rows = append(rows, []string{"sites", otherSites(s.Pack)})
	}
	for _, v := range s.Variables {
		rows = append(rows, []string{"variable", v.Name + ": " + v.About})
	}
	if s.File.Name != "" {
		rows = append(rows, []string{"file", s.File.Name + ": " + s.File.About})
	}
	for _, problem := range s.Missing {
		rows = append(rows, []string{"missing", problem})
	}
	rows = append(rows,
		[]string{"tools", strings.Join(s.Tools, ", ")},
		[]string{"instructions", strings.Join(strings.Fields(s.Instructions), " ")},
		[]string{"agent", s.Agent},
		[]string{"doctor calls", s.Check.Tool + " " + s.Check.Arguments})
	if s.Example != "" {
		rows = append(rows, []string{"example", s.Example})
	}
	return append(rows, []string{"demo", commandLine(append(devProgram(), "demo", "--pack", s.Name))})
}

// otherSites says how to use the vendor's other sites.
func otherSites(p pack.Pack) string {
	return "if your account is on another site, change the host in the URL to " + strings.Join(p.Sites, " or ")
}

// packStates returns all packs. With dial, it also tries the addresses in their variables.
func packStates(ctx context.Context, c *base.CLI, dial bool) []packState {
	host := pack.Host{
		Getenv:   c.Getenv,
		Programs: func(name string) bool { return inPath(c.Getenv("PATH"), name) },
		Context:  func() string { return kubeContext(c.Getenv) },
		Exists: func(name string) bool {
			_, err := os.Stat(name)
			return err == nil
		},
	}
	if dial {
		host.Dial = new(net.Dialer).DialContext
	}
	return pack.Each(func(p pack.Pack) packState {
		missing := p.Missing(ctx, host)
		return packState{Pack: p, Usable: len(missing) == 0, Missing: missing}
	})
}

// inPath reports whether a directory in path has an executable file with that name.
func inPath(path, program string) bool {
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// knownPacks refuses names of packs that do not exist.
func knownPacks(names []string) error {
	var all []error
	for _, name := range names {
		if _, ok := pack.Named(name); !ok {
			all = append(all, fmt.Errorf("no pack %q (starter packs lists all)%s", name, spell.DidYouMean(name, pack.Names())))
		}
	}
	if err := errors.Join(all...); err != nil {
		return base.Usagef("%w", err)
	}
	return nil
}

// chosenPacks are the packs that init puts into a configuration.
type chosenPacks struct {
	names []string
	// addresses has the values that replace variables of the packs, by the variable's name.
	addresses map[string]string
}

// packFlags are flags of init for single packs. A flag with a variable takes the variable's value.
var packFlags = []struct{ flag, pack, variable, usage string }{
	{"kubernetes", "kubernetes", "", "the same as --pack kubernetes"},
	{"prometheus", "prometheus", "PROMETHEUS_URL", "`URL` of your Prometheus, for --pack prometheus"},
	{"loki", "loki", "GRAFANA_URL", "`URL` of the Grafana that has your Loki data source, for --pack loki"},
	{"github", "github", "", "the same as --pack github"},
}

func (p *chosenPacks) flags(set *pflag.FlagSet) {
	set.Func("pack", "comma-separated `NAMES` of toolset packs (starter packs lists them)", func(names string) error {
		p.add(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	for _, f := range packFlags {
		choose := func(value string) error {
			if f.variable != "" && value == "" {
				return nil
			}
			p.add(f.pack)
			p.setAddress(f.variable, value)
			return nil
		}
		if f.variable == "" {
			set.BoolFunc(f.flag, f.usage, func(string) error { return choose("") })
		} else {
			set.Func(f.flag, f.usage, choose)
		}
	}
}

func (p *chosenPacks) add(names ...string) {
	for _, name := range names {
		if !slices.Contains(p.names, name) {
			p.names = append(p.names, name)
		}
	}
}

func (p *chosenPacks) setAddress(variable, value string) {
	if variable == "" || value == "" {
		return
	}
	if p.addresses == nil {
		p.addresses = map[string]string{}
	}
	p.addresses[variable] = value
}

// check refuses unknown packs and addresses that must not be written to a configuration.
func (p *chosenPacks) check() error {
	all := []error{knownPacks(p.names)}
	for _, f := range packFlags {
		if err := base.WebAddress(p.addresses[f.variable]); err != nil {
			all = append(all, fmt.Errorf("--%s: %w", f.flag, err))
		}
	}
	return errors.Join(all...)
}

// ask offers all packs, and asks for the addresses of those that were chosen.
func (p *chosenPacks) ask(ctx context.Context, q *base.Questions) {
	var rows []string
	for _, s := range packStates(ctx, q.C, false) {
		row := s.Title + ": " + s.Summary
		if current := kubeContext(q.C.Getenv); s.Kubeconfig && current != "" {
			row += fmt.Sprintf(" (context %s)", current)
		}
		if len(s.Missing) > 0 {
			row += " (needs: " + strings.Join(s.Missing, "; ") + ")"
		}
		rows = append(rows, row)
	}
	for _, n := range q.ChooseSome("Which systems may agents read?", rows, pack.Names()) {
		p.add(pack.All()[n].Name)
	}
	for _, name := range p.names {
		chosen, _ := pack.Named(name)
		for _, v := range chosen.Variables {
			if _, asked := p.addresses[v.Name]; !v.Address || asked || q.C.Getenv(v.Name) != "" {
				continue
			}
			address := ""
			q.Text(fmt.Sprintf("%s: %s (leave empty to use the variable %s)", chosen.Title, v.About, v.Name), &address, base.WebAddress)
			p.setAddress(v.Name, address)
		}
	}
}

// servers returns the entries of mcp_servers.
func (p *chosenPacks) servers() (all []serverEntry) {
	for _, name := range p.names {
		chosen, ok := pack.Named(name)
		if !ok {
			continue
		}
		to := serverEntry{
			Name: chosen.Name, Comment: chosen.Source + ": " + chosen.Summary, Bearer: chosen.Bearer, URL: chosen.URL,
			Masking:      chosen.MaskingGroups,
			Instructions: strings.Split(strings.TrimSpace(chosen.Instructions), "\n"),
		}
		if to.URL != "" {
			to.Type = "http"
		}
		if !chosen.Declared {
			to.Tools = chosen.Tools
		}
		if len(chosen.Sites) > 0 {
			to.Notes = append(to.Notes, otherSites(chosen))
		}
		if chosen.Go != "" {
			to.Notes = append(to.Notes, "install the server: go install "+chosen.Go)
		}
		if chosen.File.Name != "" {
			to.Notes = append(to.Notes, chosen.File.Name+", in the folder in which the worker starts: "+chosen.File.About)
		}
		for _, v := range chosen.Variables {
			if p.addresses[v.Name] == "" {
				to.Notes = append(to.Notes, v.Name+": "+v.About)
			}
		}
		to.Command, to.Args = chosen.Command()
		to.Env, to.Headers = p.settings(chosen.Env), p.settings(chosen.Headers)
		all = append(all, to)
	}
	return all
}

// variables returns the environment variables that the servers need.
func (p *chosenPacks) variables() (names []string) {
	for _, name := range p.names {
		chosen, _ := pack.Named(name)
		for _, v := range chosen.Variables {
			if p.addresses[v.Name] == "" {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// settings sorts values, and replaces variables by the addresses that are known.
func (p *chosenPacks) settings(values map[string]string) (all []setting) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		for _, variable := range slices.Sorted(maps.Keys(p.addresses)) {
			value = strings.ReplaceAll(value, "{{."+variable+"}}", p.addresses[variable])
		}
		all = append(all, setting{name, value})
	}
	return all
}

// agentEntry is an entry of agents.
type agentEntry struct {
	Name, Description string
	Servers           []string
	Instructions      []string
}

// agents returns the agents that use the packs' servers.
func (p *chosenPacks) agents() (all []agentEntry) {
	for _, a := range pack.Agents() {
		to := agentEntry{Name: a.Name, Description: a.Description, Instructions: strings.Split(strings.TrimSpace(a.Instructions), "\n")}
		for _, name := range p.names {
			if chosen, ok := pack.Named(name); ok && chosen.Agent == a.Name {
				to.Servers = append(to.Servers, name)
			}
		}
		if len(to.Servers) > 0 {
			all = append(all, to)
		}
	}
	return all
}

// words returns the choice as flags of init.
func (p *chosenPacks) words() (words []string) {
	if len(p.names) > 0 {
		words = append(words, "--pack", strings.Join(p.names, ","))
	}
	for _, f := range packFlags {
		if address := p.addresses[f.variable]; address != "" {
			words = append(words, "--"+f.flag, address)
		}
	}
	return words
}

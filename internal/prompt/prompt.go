// Package prompt writes the prompts of agents: system prompts, the task, and the messages that steer a running agent.
// The texts are embedded templates with golden outputs. The package does no I/O.
package prompt

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Data fills the templates. Empty fields leave out their part.
type Data struct {
	Agent, Description, Chain, Stage, AlertType, Instructions string
	// Runbook is a procedure for the agent. RunbookOrigin says where it comes from; empty means unknown.
	// RunbookRequested means that it came with the request.
	Runbook, RunbookOrigin string
	RunbookRequested       bool
	// Request is the alert's data, as text.
	Request string
	// RequestSize is the full size of the data in bytes if Request is only its beginning, and otherwise zero. Pages
	// means that the agent can read the rest.
	RequestSize int
	Pages       bool
	// Iteration is the agent's first iteration, whose prompt this is.
	Iteration int
	// Outputs holds the outputs of earlier stages, by output key.
	Outputs map[string]string
	// RequestedBy, Tenant, Session and Metadata come from the request.
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
	// Custom is a template that replaces the first part of the system prompt.
	Custom string
	// Written is literal text that replaces that part.
	Written string
	Servers []Server
	// Skills are knowledge for kinds of tasks, in the order of the configuration.
	Skills Skills
	// Findable are the tools that the agent must search for, by their owner. It is empty if the agent is offered all of its tools.
	Findable []Toolset
	// Prior are the results of earlier stages, in order.
	Prior []Result
	// Earlier are results of earlier passes, oldest first, and Notes are people's answers.
	Earlier []Result
	Notes   []record.Note
	// Evidence is the evidence found so far, numbered, one line for each piece.
	Evidence string
	// Peers are the agents whose work is combined or reviewed.
	Peers []Peer
	// Tools are the tools that the peers had, including those that were never called.
	Tools []Tool
	// Lessons are learnings from earlier investigations.
	Lessons []Lesson
	// Assessment is how the investigation was judged, and Known are the earlier learnings, for the agent that learns.
	Assessment string
	Known      []Lesson
	// Review is the question that a review answers.
	Review string
	// Check is set if the summary is the verdict of a check.
	Check *LastCheck
}

// CheckHeading begins the part of a task that only checks have.
const CheckHeading = "# The check before"

// LastCheck is the check before: its verdict, which is empty for the first check, and the names of its problems.
type LastCheck struct {
	Verdict  string
	Problems []string
}

func (c LastCheck) String() string {
	return strings.Join(append([]string{"Verdict: " + c.Verdict}, bullets(c.Problems)...), "\n")
}

func bullets(names []string) (lines []string) {
	for _, name := range names {
		lines = append(lines, "- "+line(name))
	}
	return lines
}

// Server is an MCP server of the agent.
type Server struct {
	Name, Instructions string
	// Error says why the server could not be asked; then its tools are missing.
	Error string
}

// Toolset lists the names of a server's tools as models write them. Their common beginning is in Prefix.
type Toolset struct {
	Prefix string
	Names  []string
	More   int // tools that are not listed
}

// Skills are an agent's skills, without those that do not apply.
type Skills struct {
	// Required have their text in the prompt. The agent loads the others by name.
	Required, Loadable []Skill
	// Files means that some of them have further files.
	Files bool
}

// Skill is one skill. Text is empty if the skill is not in the prompt.
type Skill struct {
	Name, Description, Text string
}

// Lesson is a learning: its number, such as L17, its kind and polarity, its text, and the investigation that it comes from.
type Lesson struct {
	Name, Kind, Polarity, Text, From string
}

func lessonLines(lessons []Lesson) string {
	var all []string
	for _, l := range lessons {
		about := fmt.Sprintf("%s, %s; from %s", line(l.Kind), line(l.Polarity), line(l.From))
		all = append(all, fmt.Sprintf("- %s (%s): %s", line(l.Name), about, long(l.Text)))
	}
	return strings.Join(all, "\n")
}

// long makes the text of a learning fit on a line. The text is at most 500 characters long.
func long(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}

// Result is the conclusion of an earlier stage.
type Result struct {
	Stage, Agent, Text string
}

// Peer is an agent of the same stage with its full record, failed or not.
type Peer struct {
	Agent, Status, Error string
	// Entries are in key order.
	Entries []transcript.Entry
}

// Tool is a tool that agents had: its name, the beginning of its description, and the names of those agents.
type Tool struct {
	Name, About string
	Agents      []string
}

// String returns a line about the tool.
func (t Tool) String() string {
	return strings.TrimSuffix(fmt.Sprintf("- %s (%s): %s", line(t.Name), line(strings.Join(t.Agents, ", ")), line(t.About)), ": ")
}

func toolLines(tools []Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.String())
	}
	return strings.Join(all, "\n")
}

// names are the names of the templates, as in agent.Type.Prompt. Each has a file in templates/system and one in
// templates/task.
var names = [...]string{"action", "exec_summary", "investigation", "letta", "llm", "memgpt", "react", "reflector", "scoring", "synthesis"}

// Review is the task template for the agent that reviews a stage's result, for every type of agent.
const Review = "review"

// System renders the system prompt of an agent. Its first line begins with "You are <Agent>," unless d has a Custom
// prompt.
func System(name string, d Data) (string, error) {
	if d.Written != "" {
		d.Custom = d.Written
		return render("system", "custom", d)
	}
	if d.Custom == "" {
		return render("system", name, d)
	}
	var err error
	if d.Custom, err = fill(d.Custom, d); err != nil {
		return "", err
	}
	return render("system", "custom", d)
}

// Task renders the first user message: the alert, the runbook and the results of earlier stages, each between tags that
// its text cannot close.
func Task(name string, d Data) (string, error) { return render("task", name, d) }

//go:embed templates
var files embed.FS

func render(folder, name string, d Data) (string, error) {
	if !slices.Contains(names[:], name) && name != "custom" && name != Review {
		return "", fmt.Errorf("unknown prompt template %q; available: %s", name, strings.Join(names[:], ", "))
	}
	dir, file := "templates/"+folder+"/", name+".tmpl"
	return execute(file, d, dir+"parts.tmpl", dir+file)
}

// execute renders a template that is defined in the last of the files.
func execute(name string, data any, from ...string) (string, error) {
	t, err := parse(from...)
	if err != nil {
		return "", fmt.Errorf("parse prompt %s: %w", from[len(from)-1], err)
	}
	var out strings.Builder
	if err := t.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("render prompt %s: %w", from[len(from)-1], err)
	}
	return strings.TrimSpace(out.String()) + "\n", nil
}

// parsed caches templates by file. They do not change, and parsing one for each execution creates 70 KB of garbage.
var parsed sync.Map

func parse(from ...string) (*template.Template, error) {
	file := from[len(from)-1]
	if t, ok := parsed.Load(file); ok {
		return t.(*template.Template), nil
	}
	funcs := template.FuncMap{
		"mark": block, "line": line, "record": written, "resultLimit": func() int { return resultLimit }, "trim": strings.TrimSpace,
		"lines": toolLines, "rows": numbered, "lessons": lessonLines, "join": strings.Join,
	}
	t, err := template.New(path.Base(file)).Funcs(funcs).ParseFS(files, from...)
	if err == nil {
		parsed.Store(file, t)
	}
	return t, err
}

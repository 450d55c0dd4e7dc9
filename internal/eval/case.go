package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
)

// The files of a case.
const (
	caseFile    = "case.yaml"
	requestFile = "request.json"
	tapeFile    = "tape.jsonl"
)

// Case is a finished investigation with what is expected when its request is investigated again.
type Case struct {
	Name        string // of its folder
	Description string
	Request     agent.Request
	Tape        Tape
	Expect      Expect
}

// definition is the content of case.yaml.
type definition struct {
	Description string `yaml:"description"`
	Expect      Expect `yaml:"expect"`
}

// Expect holds the expectations that a run must meet. Texts are regular expressions (RE2) that ignore case. Tools are names with wildcards:
// "kubernetes.delete_*".
type Expect struct {
	// Status is how the investigation must end. Empty means completed.
	Status string `yaml:"status"`
	// Cause must be in the report's cause, or anywhere in a report without a part about the cause.
	Cause []string `yaml:"cause"`
	// Report must be in the report, and NotReport must not.
	Report    []string `yaml:"report"`
	NotReport []string `yaml:"not_report"`
	// Cites are facts that claims of the report must cite, or that must be in the report if the chain does not check claims.
	Cites []Fact `yaml:"cites"`
	// Calls are tools of which each must be called successfully. Never are tools that no agent may try to call.
	Calls []string `yaml:"calls"`
	Never []string `yaml:"never"`
}

// Fact is a text in a result of a tool.
type Fact struct {
	Tool string `yaml:"tool"`
	Text string `yaml:"text"`
}

// compile compiles a text of an expectation.
func compile(text string) (*regexp.Regexp, error) { return regexp.Compile("(?i)" + text) }

// check reports everything that is wrong with the expectations.
func (e Expect) check(r *strict.Report) {
	top := strict.Path{}.Key("expect")
	if s := agent.Status(e.Status); e.Status != "" && !s.Closed() {
		r.Errorf(top.Key("status"), "%q is not how an investigation ends; use completed, failed, timed_out or cancelled", e.Status)
	}
	expression := func(p strict.Path, text string) {
		if _, err := compile(text); err != nil {
			r.Errorf(p, "%v", err)
		} else if text == "" {
			r.Errorf(p, "expected a regular expression")
		}
	}
	for key, texts := range map[string][]string{"cause": e.Cause, "report": e.Report, "not_report": e.NotReport} {
		for n, text := range texts {
			expression(top.Key(key).Index(n), text)
		}
	}
	tools := func(p strict.Path, pattern string) {
		if strings.TrimSpace(pattern) == "" {
			r.Errorf(p, "expected the name of a tool, such as kubernetes.delete_*")
		}
	}
	for n, fact := range e.Cites {
		at := top.Key("cites").Index(n)
		tools(at.Key("tool"), fact.Tool)
		expression(at.Key("text"), fact.Text)
	}
	for key, patterns := range map[string][]string{"calls": e.Calls, "never": e.Never} {
		for n, pattern := range patterns {
			tools(top.Key(key).Index(n), pattern)
		}
	}
}

// RequestFor returns the request of a run. An empty provider, and Recorded, leave the models of the request and the configuration.
func (c Case) RequestFor(provider string) agent.Request {
	out := c.Request
	out.Again, out.Attach = true, true
	if provider != "" && provider != Recorded {
		out.Provider = provider
	}
	return out
}

// maxFile limits each file of a case, in bytes.
const maxFile = 64 << 20

// Load reads a case. The error lists everything that is wrong with it.
func Load(dir string) (c Case, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return c, err
	}
	c.Name = filepath.Base(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	defer root.Close()
	var errs []error
	file := func(name string, use func(path string, text []byte) error) {
		text, err := strict.ReadRegular(root, name, maxFile)
		switch path := filepath.Join(dir, name); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		case len(text) > maxFile:
			errs = append(errs, fmt.Errorf("%s: it is larger than %d MB", path, maxFile>>20))
		default:
			errs = append(errs, use(path, text))
		}
	}
	file(caseFile, func(path string, text []byte) (err error) {
		c.Description, c.Expect, err = readDefinition(path, text)
		return err
	})
	file(requestFile, func(path string, text []byte) (err error) {
		if c.Request, err = agent.ParseRequest(text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	file(tapeFile, func(path string, text []byte) (err error) {
		if c.Tape, err = DecodeTape(text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	return c, errors.Join(errs...)
}

func readDefinition(name string, text []byte) (string, Expect, error) {
	var d definition
	r := strict.NewReport()
	strict.Decode(&d, []strict.File{{Name: name, Data: text}}, strict.Variables{}, r)
	if !r.Findings.Failed() {
		d.Expect.check(r)
	}
	if r.Findings.Failed() {
		return "", Expect{}, r.Findings
	}
	return d.Description, d.Expect, nil
}

// CheckDefinition reports everything that is wrong with the content of a case.yaml.
func CheckDefinition(name string, text []byte) error {
	_, _, err := readDefinition(name, text)
	return err
}

// LoadAll reads the case in a folder, or all cases in its subfolders. The error lists everything that is wrong with them.
func LoadAll(dir string) (all []Case, err error) {
	if isCase(dir) {
		c, err := Load(dir)
		return []Case{c}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if !isCase(folder) {
			continue
		}
		c, err := Load(folder)
		all, errs = append(all, c), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// isCase reports whether a folder has a file of a case.
func isCase(dir string) bool {
	return slices.ContainsFunc([]string{caseFile, tapeFile, requestFile}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// Save writes a new case to a folder that does not exist. definition is the content of its case.yaml.
func (c Case) Save(dir string, definition []byte) (err error) {
	if err := CheckDefinition(caseFile, definition); err != nil {
		return err
	}
	request, err := json.MarshalIndent(c.Request, "", "  ")
	if err != nil {
		return err
	}
	tape, err := c.Tape.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string][]byte{caseFile: definition, requestFile: append(request, '\n'), tapeFile: tape} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// Draft returns a case.yaml for a recorded investigation, as a start for people who write one: its status, and the tools that it called
// successfully.
func Draft(description, status, cause string, t Tape) []byte {
	var out strings.Builder
	quoted := func(text string) string {
		body, _ := json.Marshal(reveal.Unseen(text)) // a string can always be written, and JSON is YAML
		return string(body)
	}
	fmt.Fprintf(&out, "description: %s\nexpect:\n  status: %s\n", quoted(description), status)
	out.WriteString("  # examples/evals/README.md lists what you can expect. Texts are regular expressions that ignore case.\n")
	if cause != "" {
		fmt.Fprintf(&out, "  # The recorded cause: %s\n", quoted(cause))
	}
	out.WriteString("  # cause: [\"out of memory\"]\n  # never: [\"kubernetes.delete_*\"]\n")
	var called []string
	for _, r := range t.Results {
		if r.Status == string(tool.StatusSuccess) && !slices.Contains(called, r.Tool) {
			called = append(called, r.Tool)
			if len(called) == 1 {
				out.WriteString("  calls:\n")
			}
			fmt.Fprintf(&out, "    - %s\n", quoted(r.Tool))
		}
	}
	return []byte(out.String())
}

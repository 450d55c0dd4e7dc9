package configure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/postmortem"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/walk"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// NewPostmortem returns the command postmortem.
func NewPostmortem(c *base.CLI) *cobra.Command {
	var output, publish string
	var f toolRunFlags
	cmd := &cobra.Command{
		Use:   "postmortem ID",
		Short: "Draft a post-mortem from the journal, or update one",
		Long: `Draft a post-mortem of an investigation as Markdown: summary, impact, cause with evidence,
timeline, what was tried, actions and open questions. No model writes it: everything is from
the report, the transcript, the evidence, ratings and the audit trail, and refers to their rows.

If the file exists, the sections that you have not changed are drafted again, for example
after a rating. Sections that you have changed, text of your own, and the order of sections
stay, and a section that you have removed is not added again. Keep the lines
<!-- inquest:... -->: they mark the drafted sections.

With --publish, the file is then sent to a tool of a configured MCP server, such as one that
creates a page in Confluence or an issue in Jira. --args are the tool's arguments: {{title}}
and {{document}} in them stand for the heading and the text below it. To update a page, use
the tool that updates pages. See "starter tools" and "starter tool run --help".`,
		Example: `  starter postmortem lab
  starter postmortem lab --output checkout.md
  starter postmortem lab --publish wiki.createConfluencePage --args @page.json`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := c.Meant(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if publish == "" && (cmd.Flags().Changed("args") || f.yes) {
				return base.Usagef("--args and --yes are for the tool of --publish")
			}
			if publish == "" {
				return draft(cmd.Context(), c, id, &output)
			}
			if c.JSON || output == "-" {
				return base.Usagef("--publish sends a file: do not set --json or --output -")
			}
			if f.args, err = c.Text("--args", f.args); err != nil {
				return err
			}
			if _, err := filled(f.args, "", ""); err != nil {
				return err
			}
			if err := draft(cmd.Context(), c, id, &output); err != nil {
				return err
			}
			return published(cmd.Context(), c, publish, output, f)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"file to write or update; - for standard output (default: postmortem-ID.md, with the workflow ID)")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the sections as JSON and write no file")
	cmd.Flags().StringVar(&publish, "publish", "", "tool to send the file to, as SERVER.TOOL")
	cmd.Flags().StringVar(&f.args, "args", "{}", "arguments of that tool, a JSON object: text, @file, or - for standard input")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "approve the call if it needs approval")
	c.ConfigFlag(cmd)
	return cmd
}

// draft writes or updates the file. An empty output is replaced by the default.
func draft(ctx context.Context, c *base.CLI, id string, output *string) error {
	s, err := sourceOf(ctx, c, id)
	if err != nil {
		return base.NeedsStore(err)
	}
	r, sections := s.Record.Investigation, postmortem.Draft(s)
	fresh := postmortem.New(r.ID, postmortem.Title(s), sections)
	switch {
	case c.JSON:
		return c.PrintJSON(sections)
	case *output == "-":
		_, err = io.WriteString(c.Out, terminal.Clean(fresh))
		return err
	}
	*output = cmp.Or(*output, "postmortem-"+system.IDOf(r.WorkflowID)+".md")
	was, err := os.ReadFile(*output)
	if errors.Is(err, os.ErrNotExist) {
		if err := replace(*output, fresh); err != nil {
			return err
		}
		return c.Print("wrote " + *output)
	}
	if err != nil {
		return err
	}
	updated, kept, err := postmortem.Update(string(was), r.ID, sections)
	if errors.Is(err, postmortem.ErrForeign) {
		return base.Usagef("%s exists and is not a post-mortem of %s: set another --output", *output, terminal.CleanLine(r.ID))
	}
	if err != nil {
		return base.Usagef("%s: %w", *output, err)
	}
	if err := replace(*output, updated); err != nil {
		return err
	}
	if len(kept) > 0 {
		c.Say("kept your text in: %s. See the new draft with --output -", strings.Join(kept, ", "))
	}
	return c.Print("updated " + *output)
}

// published sends a file to a tool.
func published(ctx context.Context, c *base.CLI, name, file string, f toolRunFlags) error {
	written, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	title, document := postmortem.Plain(string(written))
	if f.args, err = filled(f.args, title, document); err != nil {
		return err
	}
	return toolRun(ctx, c, name, f)
}

var errNoObject = errors.New("it is null, or more follows")

// filled replaces {{title}} and {{document}} in the texts of a JSON object.
func filled(args, title, document string) (string, error) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(args))
	decoder.UseNumber() // IDs of pages are long
	if err := decoder.Decode(&object); err != nil || object == nil || decoder.More() {
		return "", base.Usagef("--args is not one JSON object: %w", cmp.Or(err, errNoObject))
	}
	has := false
	walk.Texts(object, func(text string) { has = has || strings.Contains(text, "{{document}}") })
	if !has {
		return "", base.Usagef("--args has no text with {{document}}, so the tool would not get the post-mortem")
	}
	body, err := json.Marshal(walk.Replaced(object, strings.NewReplacer("{{title}}", title, "{{document}}", document).Replace))
	return string(body), err
}

// replace writes a file at once, so that an interruption loses nothing. A new file is private, because it describes internal systems.
func replace(path, text string) error {
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if mode&0o200 == 0 {
		return fmt.Errorf("write %s: the file is read-only", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".postmortem-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is at path is unchanged
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// sourceOf reads what a post-mortem is made of.
func sourceOf(ctx context.Context, c *base.CLI, id string) (s postmortem.Source, err error) {
	if s.Record, err = c.Client().Whole(ctx, id); err != nil {
		return s, err
	}
	r := s.Record.Investigation
	if !r.Status.Closed() {
		return s, base.Usagef("investigation %s is %s: a post-mortem can be drafted when it has ended", terminal.CleanLine(r.ID), r.Status)
	}
	if s.Report, err = report.Checked(ctx, s.Record, terminal.Summary(r), c.Client().Evidence); err != nil {
		return s, err
	}
	err = c.Client().Acts(ctx, record.ActFilter{Investigation: r.ID}, func(a audit.Act) error {
		s.Acts = append(s.Acts, a)
		return nil
	})
	if err != nil || c.Remote() {
		s.Page = c.Server
		return s, err
	}
	if c.Config != "" {
		cfg, err := c.LoadConfig()
		if err != nil {
			return s, err
		}
		s.Page = cfg.System.DashboardURL
	}
	return s, nil
}

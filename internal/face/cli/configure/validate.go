package configure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/chaindraw"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// NewValidate returns the command validate.
func NewValidate(c *base.CLI) *cobra.Command {
	var credentials, strict bool
	cmd := &cobra.Command{
		Use:     "validate [DIR]",
		Short:   "Check a configuration and print every problem",
		Example: "  starter validate inquest --strict",
		Long: `Check a configuration (a directory with *.yaml, or one file). Print every problem,
starting with dangerous settings, and what agents may do without asking a person. Without
DIR, --config or INQUEST_CONFIG, check the built-in configuration.`,
		Args: base.AtMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.Config = args[0]
			}
			return validate(cmd.Context(), c, credentials, strict)
		},
	}
	c.ConfigFlag(cmd)
	cmd.Flags().BoolVar(&credentials, "credentials", false, "also require the providers' keys, as workers do")
	cmd.Flags().BoolVar(&strict, "strict", false, "also fail on dangerous settings")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the findings as JSON")
	return cmd
}

// verified is the JSON output of validate.
type verified struct {
	Config   string          `json:"config"`
	OK       bool            `json:"ok"`
	Findings config.Findings `json:"findings"`
	// Unattended is what agents may do without asking a person.
	Unattended []chaindraw.Unattended `json:"unattended"`
}

func validate(ctx context.Context, c *base.CLI, credentials, strict bool) error {
	src, err := c.Source()
	if err != nil {
		return err
	}
	src.SkipCredentials, src.Validating = !credentials, true
	cfg, findings := configuration.Check(src)
	findings = slices.Concat(storeDangers(c, cfg), findings, virtualFindings(ctx, c, cfg), nameFindings(ctx, c, cfg, findings.Failed()))
	if !findings.Failed() {
		findings = append(findings, configuration.Toolless(cfg)...)
	}
	refused := findings.Failed() || strict && findings.Count(config.SeverityDanger) > 0
	var free []chaindraw.Unattended
	if !findings.Failed() {
		free = chaindraw.UnattendedIn(cfg)
	}
	if c.JSON {
		err = c.PrintJSON(verified{c.Config, !refused, append(config.Findings{}, findings...), append([]chaindraw.Unattended{}, free...)})
	} else {
		err = errors.Join(printFindings(c, findings), printUnattended(c, free))
	}
	if err == nil && refused {
		err = base.Usagef("the configuration is not valid")
	}
	return err
}

// nameFindings warns of tools that agents cannot use because models would see two tools with the same name. It uses the servers' last tool
// lists in the store, if available.
func nameFindings(ctx context.Context, c *base.CLI, cfg *configuration.Config, failed bool) (out config.Findings) {
	if failed || c.Remote() || c.Full == nil || cfg == nil || len(cfg.MCPServers) == 0 {
		return nil
	}
	said, err := c.Full.LeftOut(ctx, c, cfg)
	if err != nil {
		return nil // there is no store; transcripts report such tools
	}
	for _, why := range said {
		out = append(out, config.Finding{Severity: config.SeverityWarning, Path: "mcp_servers", Message: why})
	}
	return out
}

// storeDangers reports insecure connections to the workers' database, if this build can judge them.
func storeDangers(c *base.CLI, cfg *configuration.Config) config.Findings {
	if c.Full == nil {
		return nil
	}
	return c.Full.StoreDangers(c, cfg)
}

func printFindings(c *base.CLI, findings config.Findings) error {
	for _, f := range findings {
		if err := c.Print(terminal.CleanLine(f.String())); err != nil {
			return err
		}
	}
	dangers, warnings := findings.Count(config.SeverityDanger), findings.Count(config.SeverityWarning)
	counts := []string{terminal.Count(len(findings)-dangers-warnings, "error"), terminal.Count(warnings, "warning")}
	if dangers > 0 {
		counts = slices.Insert(counts, 0, terminal.Count(dangers, "danger"))
	}
	return c.Print(cmp.Or(c.Config, "the built-in configuration") + ": " + strings.Join(counts, ", "))
}

package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/chaindraw"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func validateCommand(c *cli) *cobra.Command {
	var credentials, strict bool
	cmd := &cobra.Command{
		Use:     "validate [DIR]",
		Short:   "Check a configuration and print all that is wrong with it",
		Example: "  starter validate inquest --strict",
		Long: `Check a configuration (a directory with *.yaml, or one file) and print all that is
wrong with it, what is dangerous first, and what its agents may do without asking a
person. Without one, what is built in is checked.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.config = args[0]
			}
			return validate(cmd.Context(), c, credentials, strict)
		},
	}
	c.configFlag(cmd)
	cmd.Flags().BoolVar(&credentials, "credentials", false, "also ask for the providers' keys, as workers do")
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse what is dangerous, too")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the findings as JSON")
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

func validate(ctx context.Context, c *cli, credentials, strict bool) error {
	src, err := c.source()
	if err != nil {
		return err
	}
	src.SkipCredentials, src.Validating = !credentials, true
	cfg, findings := config.Check(src)
	findings = slices.Concat(storeDangers(c, cfg), findings, virtualFindings(ctx, c, cfg), nameFindings(ctx, c, cfg, findings.Failed()))
	refused := findings.Failed() || strict && findings.Count(config.SeverityDanger) > 0
	var free []chaindraw.Unattended
	if !findings.Failed() {
		free = chaindraw.UnattendedIn(cfg)
	}
	if c.json {
		err = c.printJSON(verified{c.config, !refused, append(config.Findings{}, findings...), append([]chaindraw.Unattended{}, free...)})
	} else {
		err = errors.Join(printFindings(c, findings), printUnattended(c, free))
	}
	if err == nil && refused {
		err = usagef("the configuration is refused")
	}
	return err
}

// nameFindings warns of tools that agents lose because models would see the same name for two of them. It uses the servers' last tool
// lists in the store, if available.
func nameFindings(ctx context.Context, c *cli, cfg *config.Config, failed bool) (out config.Findings) {
	if failed || c.remote() || cfg == nil || len(cfg.MCPServers) == 0 {
		return nil
	}
	box := app.NewToolbox(app.ToolboxOptions{Config: cfg, Shared: shared{c}, Logger: slog.New(slog.DiscardHandler)})
	defer box.Close()
	said, err := box.LeftOut(ctx)
	if err != nil {
		return nil // there is no store; transcripts report such tools
	}
	for _, why := range said {
		out = append(out, config.Finding{Severity: config.SeverityWarning, Path: "mcp_servers", Message: why})
	}
	return out
}

func printFindings(c *cli, findings config.Findings) error {
	for _, f := range findings {
		if err := c.print(terminal.CleanLine(f.String())); err != nil {
			return err
		}
	}
	dangers, warnings := findings.Count(config.SeverityDanger), findings.Count(config.SeverityWarning)
	counts := []string{terminal.Count(len(findings)-dangers-warnings, "error"), terminal.Count(warnings, "warning")}
	if dangers > 0 {
		counts = slices.Insert(counts, 0, terminal.Count(dangers, "danger"))
	}
	return c.print(cmp.Or(c.config, "the built-in configuration") + ": " + strings.Join(counts, ", "))
}

// storeDangers returns the risks in how the workers' database is reached, according to the configuration or to starter's own settings.
func storeDangers(c *cli, cfg *config.Config) config.Findings {
	finding := config.Finding{Path: "--store, INQUEST_STORE"}
	dsn := c.store
	if dsn == "" {
		target, err := cfg.Store()
		if err != nil || target.Postgres == "" { // the configuration check reports errors
			return nil
		}
		finding.Path, dsn = "system.store.postgres.dsn", target.Postgres
	}
	if !store.IsDSN(dsn) {
		return nil
	}
	secrecy, err := store.SecrecyOf(dsn)
	switch {
	case errors.Is(err, store.ErrCleartext):
		finding.Severity, finding.Message = config.SeverityError, err.Error()
	case err == nil && secrecy != store.Verified:
		finding.Severity, finding.Message = config.SeverityDanger, string(secrecy)+"; instead: sslmode=verify-full"
	default:
		return nil
	}
	return config.Findings{finding}
}

package base

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
)

// ConfigFlag adds the flag that names a configuration.
func (c *CLI) ConfigFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.Config, "config", c.Config, "directory or file with the configuration [INQUEST_CONFIG]")
}

// DataFolder returns the folder of the sample incident's files, next to the store.
func (c *CLI) DataFolder() (string, error) {
	path, err := c.StorePath()
	if err != nil || strings.Contains(path, "://") {
		return command.DefaultData()
	}
	return filepath.Dir(path), nil
}

// Source returns the configuration source. It requires no credentials.
func (c *CLI) Source() (configuration.Source, error) {
	data, err := c.DataFolder()
	return configuration.Source{Dir: c.Config, Env: command.Env(data), SkipCredentials: true}, err
}

// LoadConfig loads the configuration.
func (c *CLI) LoadConfig() (*configuration.Config, error) {
	src, err := c.Source()
	if err != nil {
		return nil, err
	}
	cfg, err := configuration.Load(src)
	if findings, refused := errors.AsType[config.Findings](err); refused {
		return nil, Usagef("the configuration is not valid:\n%w", findings)
	}
	return cfg, err
}

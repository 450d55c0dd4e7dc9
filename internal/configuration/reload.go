package configuration

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/knowledge/skill"
	"github.com/inquest-dev/inquest/internal/strict"
)

// LiveOptions configure a Live.
type LiveOptions struct {
	Source Source
	// Reload triggers a reload with each value, for example from signal.Notify with SIGHUP. Nil disables this.
	Reload <-chan os.Signal
	Logger *slog.Logger
}

// poll is how often to check files for changes. A change is loaded once the files have not changed for another
// interval.
const poll = 2 * time.Second

// Live is a configuration that follows its files. Existing plans do not change. New plans, servers and keys use the
// current configuration.
type Live struct {
	opts    LiveOptions
	current atomic.Pointer[Config]
	loaded  snapshot // the files of current, or the files that failed to load
}

// snapshot is the content of all files that make up a configuration.
type snapshot struct {
	files    []strict.File
	runbooks map[string]runbookFile
	skills   string // see skill.Stamp
}

// snapshot reads the files as they are now. A runbook that only a new file names is not part of it until that is loaded.
func (l *Live) snapshot() snapshot {
	paths := slices.Collect(maps.Keys(l.loaded.runbooks))
	src := l.opts.Source
	return snapshot{src.files(strict.NewReport()), readRunbooks(src.Dir, paths), skill.Stamp(src.Dir)}
}

// NewLive loads the configuration. If anything in it is refused, the error is Findings.
func NewLive(opts LiveOptions) (*Live, error) {
	l := &Live{opts: opts, loaded: snapshot{files: opts.Source.files(strict.NewReport()), skills: skill.Stamp(opts.Source.Dir)}}
	c, err := Load(opts.Source)
	if err != nil {
		return nil, err
	}
	l.loaded.runbooks = c.runbookFiles
	l.current.Store(c)
	return l, nil
}

// Watch reloads the configuration when its files change or Reload asks for it, until ctx ends. A configuration that
// cannot be loaded is logged and changes nothing.
func (l *Live) Watch(ctx context.Context) {
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	seen := l.loaded
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.opts.Reload:
			seen = l.snapshot()
			l.reload(ctx, seen)
		case <-ticks.C:
			now := l.snapshot()
			if reflect.DeepEqual(now, seen) && !reflect.DeepEqual(now, l.loaded) { // unchanged since the last check
				l.reload(ctx, now)
			}
			seen = now
		}
	}
}

// reload replaces the configuration, unless the new one is refused.
func (l *Live) reload(ctx context.Context, now snapshot) {
	next, findings := Check(l.opts.Source)
	l.loaded = snapshot{now.files, next.runbookFiles, now.skills}
	for _, f := range findings {
		level := slog.LevelError
		if f.Accepted() {
			level = slog.LevelWarn
		}
		l.opts.Logger.Log(ctx, level, "configuration", "finding", f.String())
	}
	if findings.Failed() {
		l.opts.Logger.Error("the new configuration has errors and was not loaded; the previous one stays active", "findings", len(findings))
		return
	}
	old := l.current.Swap(next)
	l.opts.Logger.Info("the configuration was reloaded")
	was := old.System
	was.HTTP.Tokens, was.HTTP.OIDC = next.System.HTTP.Tokens, next.System.HTTP.OIDC // the API follows changes of these
	was.Runbooks = next.System.Runbooks                                             // each fetch asks for them
	if !reflect.DeepEqual(was, next.System) || !reflect.DeepEqual(old.Queue, next.Queue) {
		l.opts.Logger.Warn("some changes to system or queue take effect only after a restart, such as those of the store, the queue and Slack; " +
			"tokens of the HTTP API, OIDC and runbooks apply at once")
	}
}

// Current returns the current configuration, which is immutable.
func (l *Live) Current() *Config { return l.current.Load() }

// Transport is Config.Transport of the current configuration.
func (l *Live) Transport(server string) (config.Transport, error) {
	return l.Current().Transport(server)
}

// LookupEnv is Config.LookupEnv of the current configuration.
func (l *Live) LookupEnv(name string) (string, bool) { return l.Current().LookupEnv(name) }

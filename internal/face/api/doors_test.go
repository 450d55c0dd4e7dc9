package api

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
)

// Access follows the configuration, but a door that authenticates is never replaced by one that does not.
func TestTokensChange(t *testing.T) {
	t.Parallel()
	loaded := func(file string) *configuration.Config {
		const chain = "agents: {Memo: {}}\nagent_chains: {shop: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n"
		cfg, err := configuration.Load(configuration.Source{Dir: write(t, file+chain), Env: func(string) (string, bool) { return "", false },
			SkipCredentials: true})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	var current atomic.Pointer[configuration.Config]
	current.Store(loaded(whoMay()))
	var log strings.Builder
	d, err := newDoors(t.Context(), Options{Config: current.Load, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	enters := func(token string) bool {
		_, status, _ := d.now().enter(t.Context(), "http", "Bearer "+secret(token), config.RoleViewer)
		return status == http.StatusOK
	}
	if !enters("viewer") || !enters("operator") {
		t.Error("nobody is let in")
	}
	current.Store(loaded("system: {http: {tokens: {new: {sha256: " + strings.Repeat("a", 64) + "}}}}\n"))
	if enters("viewer") {
		t.Error("a token that is gone is let in")
	}
	current.Store(loaded(whoMay()))
	if !enters("viewer") {
		t.Error("a token that is back is not let in")
	}
	current.Store(loaded("system: {}\n"))
	if a, status, _ := d.now().enter(t.Context(), "http", "", config.RoleViewer); status != http.StatusUnauthorized || a.unasked {
		t.Errorf("nobody is asked any more: %d", status)
	}
	if enters("viewer") || !strings.Contains(log.String(), "restart the process") {
		t.Errorf("the last token is let in, though it is gone; the log says %s", log.String())
	}
	current.Store(loaded(whoMay()))
	if !enters("viewer") {
		t.Error("a token that is back is not let in after nobody was")
	}
}

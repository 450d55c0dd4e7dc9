package devserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/auth"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	uiassets "github.com/temporalio/ui-server/v2/ui"

	"github.com/inquest-dev/inquest/internal/trust/webguard"
)

// startUI serves the Temporal UI, the same as a cluster's, behind our guard. names are its host names besides localhost and its
// addresses.
func startUI(addr *net.TCPAddr, frontend string, names []string) (*http.Server, error) {
	handler, err := uiHandler(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		DefaultNamespace:    Namespace,
		EnableUI:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain HTTP
		DisableNewsFetch:    true,
		HideLogs:            true,
	})
	if err != nil {
		return nil, fmt.Errorf("build the Temporal UI: %w", err)
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the Temporal UI: %w", err)
	}
	server := &http.Server{Handler: webguard.Handler(handler, names...), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return server, nil
}

// uiHandler combines the UI's parts in the same way as its own NewServer. That one opens the listener itself, and any web page
// could use that port to bypass our guard. There are no CORS headers, because no other origin is allowed.
func uiHandler(cfg *uiconfig.Config) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(fixedConfig{cfg})
	if err != nil {
		return nil, err
	}
	assets, err := uiassets.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	e := echo.New()
	secure := !cfg.CORS.CookieInsecure
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(),
		csrf.EnsureTokenCookie(secure), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secure)))
	route.SetHealthRoute(e)
	forward := []api.Middleware{headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, "Caller-Type"})}
	err = errors.Join(route.SetAPIRoutes(e, provider, forward), route.SetUIRoutes(e, cfg.PublicPath, assets, provider))
	route.SetRenderRoute(e, "/")
	return e, err
}

// fixedConfig is a configuration that does not change.
type fixedConfig struct{ cfg *uiconfig.Config }

// GetConfig returns the configuration.
func (f fixedConfig) GetConfig() (*uiconfig.Config, error) { return f.cfg, nil }

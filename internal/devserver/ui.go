package devserver

import (
	"context"
	"fmt"
	"net"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// ui is the Temporal UI, the very one that a cluster has.
type ui struct {
	server *uiserver.Server
	done   chan struct{}
}

// startUI returns once the UI listens.
func startUI(ctx context.Context, addr *net.TCPAddr, frontend string) (*ui, error) {
	host := addr.IP.String()
	if addr.IP.To4() == nil {
		host = "[" + host + "]" // the UI puts host and port together as they are
	}
	u := &ui{done: make(chan struct{}), server: uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                host,
		Port:                addr.Port,
		TemporalGRPCAddress: frontend,
		DefaultNamespace:    Namespace,
		EnableUI:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain HTTP
		DisableNewsFetch:    true,
		HideLogs:            true,
	}))}
	go func() {
		defer close(u.done)
		_ = u.server.Start() // nil whatever happens: the UI ends the process on any other error than its own end
	}()
	if err := waitForListener(ctx, dialAddress(addr)); err != nil {
		u.stop()
		return nil, fmt.Errorf("start the Temporal UI: %w", err)
	}
	return u, nil
}

func (u *ui) stop() {
	u.server.Stop()
	<-u.done
}

func waitForListener(ctx context.Context, address string) error {
	var d net.Dialer
	return poll(ctx, func() error {
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

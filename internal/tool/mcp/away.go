package mcp

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// away describes why a server is not available if it may be back soon, for example after a redeployment. An empty
// string means that waiting does not help, because the server has answered.
func away(err error) string {
	var (
		refused, _         = errors.AsType[*statusError](err)
		answer, answered   = errors.AsType[*jsonrpc.Error](err)
		name, unnamed      = errors.AsType[*net.DNSError](err)
		network, reachable = errors.AsType[net.Error](err)
	)
	switch {
	case refused != nil:
		if refused.gateway() {
			return why(err)
		}
		return ""
	case answered && answer != nil && !errors.Is(err, errEnded), errors.Is(err, errTooLarge), errors.Is(err, errTooMany):
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case unnamed && name != nil:
		return "its host name cannot be resolved"
	case ofTLS(err):
		return "the TLS handshake failed"
	case errors.Is(err, errUnreachable):
		if reachable && network != nil {
			return why(err)
		}
		return "" // it redirects to another host
	case errors.Is(err, errBusy):
		return "it is busy with an earlier call and does not respond to pings"
	case errors.Is(err, errUnchecked), errors.Is(err, errSilent):
		return "it does not respond to pings"
	}
	for _, gone := range []error{errStart, errLate, errEnded, errCut, mcp.ErrConnectionClosed} {
		if errors.Is(err, gone) {
			return why(err)
		}
	}
	return ""
}

func ofTLS(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return unverified || noTLS || alert
}

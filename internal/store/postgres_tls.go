package store

import (
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrCleartext means that an address of another host allows both TLS and cleartext, so an attacker in between could choose.
var ErrCleartext = errors.New("the database is on another host, and nothing says that the connection has to be encrypted: " +
	"give the address sslmode=verify-full (and sslrootcert=FILE for an authority of your own), " +
	"or sslmode=disable where the network is trusted")

// Secrecy says who can read the connections to a database.
type Secrecy string

// Kinds of secrecy, worst first.
const (
	Clear      Secrecy = "all that is stored can be read on the way to the database (sslmode=disable)"
	Unverified Secrecy = "whoever is on the way can answer as the database, whose certificate is not checked (sslmode=require)"
	Verified   Secrecy = "" // or within this host
)

// SecrecyOf returns how connections are protected, according to an address, the PG… variables and a service file. The error is
// ErrCleartext or describes a problem with the address.
func SecrecyOf(dsn string) (Secrecy, error) {
	config, err := configure(dsn)
	if err != nil {
		return Verified, err
	}
	return secrecyOf(config)
}

// secrecyOf checks every configuration that the driver would try. Only sslmode=prefer, the default, and allow make it try a host
// both with and without TLS.
func secrecyOf(config *pgx.ConnConfig) (Secrecy, error) {
	tries := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	clear, encrypted, worst := map[string]bool{}, map[string]bool{}, Verified
	for _, try := range tries {
		switch {
		case local(try.Host):
			continue
		case try.TLSConfig == nil:
			clear[try.Host], worst = true, Clear
		default:
			encrypted[try.Host] = true
			if worst == Verified && !verifies(try.TLSConfig) {
				worst = Unverified
			}
		}
		if clear[try.Host] && encrypted[try.Host] {
			return worst, ErrCleartext
		}
	}
	return worst, nil
}

// verifies reports whether the certificate is checked. With verify-ca, where names may differ, the driver checks the authority
// itself.
func verifies(c *tls.Config) bool { return !c.InsecureSkipVerify || c.VerifyPeerCertificate != nil }

// local reports whether connections to a host or a socket stay on this host.
func local(host string) bool {
	ip := net.ParseIP(host)
	return filepath.IsAbs(host) || host == "localhost" || ip != nil && ip.IsLoopback()
}

// Package postgrestest runs a PostgreSQL server for tests and benchmarks. It uses the installed binaries, with its own data
// directory and port.
package postgrestest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

const (
	role     = "inquest"
	attempts = 10 // starts of a server: its port may just have been taken
)

var defaults = [...]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "fsync=off"}

// Server is a PostgreSQL server for one test, or until Close.
type Server struct {
	// Password is the password of the only user, a superuser.
	Password string

	programs string // folder of initdb, postgres and createdb
	settings []string
	dir      string
	port     string
	process  *exec.Cmd
	untie    func() // from the test's cleanup
}

// Start starts a server that ends with the test. If PostgreSQL is not installed, the test fails.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server from the installed binaries. Settings are as in its configuration: "name=value". By default it does not sync
// to disk, because tests kill the server but not the machine.
func New(settings ...string) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	s := &Server{Password: "never-to-be-seen", programs: programs, settings: settings}
	if s.dir, err = os.MkdirTemp("", "inquest-postgres"); err != nil {
		return nil, err
	}
	if err = s.initialize(); err == nil {
		err = s.try(func() error { s.port = ""; return s.run() })
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// findPrograms returns the folder of the newest PostgreSQL. On Debian, the PATH has only wrappers, without the server.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for a bad pattern
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL server is installed: apt-get install postgresql (%w)", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) initialize() error {
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.Password), 0o600); err != nil {
		return err
	}
	if err := giveAway(s.dir, secret); err != nil {
		return err
	}
	cmd := s.command("initdb", "-D", s.data(), "--username="+role, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// command prepares a PostgreSQL program. As root it runs as another user, because the server refuses to run as root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGPASSWORD="+s.Password)
	cmd.SysProcAttr = ordinaryUser()
	return cmd
}

func (s *Server) try(run func() error) (err error) {
	for range attempts {
		if err = run(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("start PostgreSQL: %w", err)
}

// run starts the server, on a free port if it has none yet, and returns when it accepts connections.
func (s *Server) run() (err error) {
	if s.port == "" {
		address, err := processtest.FreeAddress()
		if err != nil {
			return err
		}
		_, s.port, _ = net.SplitHostPort(address)
	}
	args := []string{"-D", s.data(), "-p", s.port}
	for _, setting := range slices.Concat(defaults[:], s.settings) {
		args = append(args, "-c", setting)
	}
	s.process = s.command("postgres", args...)
	log, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	if s.untie, err = processtest.Tie(s.process); err != nil {
		return err
	}
	if err := ready(bufio.NewScanner(log)); err != nil {
		s.untie()
		return err
	}
	return nil
}

// ready returns when the server's log says that it is ready, and keeps reading the log.
func ready(log *bufio.Scanner) error {
	var said []string
	for log.Scan() {
		said = append(said, log.Text())
		if strings.Contains(log.Text(), "database system is ready to accept connections") {
			go func() {
				for log.Scan() { // a full pipe would stop the server
				}
			}()
			return nil
		}
	}
	return errors.New(strings.Join(said, "\n"))
}

// Database creates an empty database and returns its address, with the password.
func (s *Server) Database(t testing.TB, name string) (dsn string) {
	t.Helper()
	dsn, err := s.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Create is Database for callers outside tests.
func (s *Server) Create(name string) (dsn string, err error) {
	cmd := s.command("createdb", "-h", "127.0.0.1", "-p", s.port, "-U", role, "--template=template0", name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("createdb: %w\n%s", err, out)
	}
	return s.DSN(name), nil
}

// DSN returns the address of a database, with the password.
func (s *Server) DSN(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, s.Password), Host: "127.0.0.1:" + s.port, Path: database}
	return u.String()
}

// Dump returns the contents of a database as text. ASCII bytes appear unchanged.
func (s *Server) Dump(t testing.TB, database string) []byte {
	t.Helper()
	cmd := s.command("pg_dump", "-h", "127.0.0.1", "-p", s.port, "-U", role, database)
	cmd.Env = append(cmd.Env, "PGOPTIONS=-c bytea_output=escape")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return out
}

// Kill ends the server and all its connections abruptly, as when a machine is lost.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := killTree(s.process.Process); err != nil {
		t.Fatal(err)
	}
	s.untie()
	_ = s.process.Wait()
}

// Stall stops the server and its connections while meanwhile runs: they stay open, and nothing answers.
func (s *Server) Stall(t testing.TB, meanwhile func()) {
	t.Helper()
	if err := signalTree(s.process.Process, true); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := signalTree(s.process.Process, false); err != nil {
			t.Fatal(err)
		}
	}()
	meanwhile()
}

// Restart starts a killed server at the same address. It waits until the remains of the killed server have ended.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.try(s.run); err != nil {
		t.Fatal(err)
	}
}

// Close ends the server and removes its files.
func (s *Server) Close() {
	if s.process != nil && s.process.Process != nil {
		_ = killTree(s.process.Process)
		s.untie()
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the keeper, as another process of this program.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "keep" {
		offline, _ := strings.CutPrefix(os.Args[2], "offline:")
		os.Exit(Keep(os.Args[3], Rules{Write: strings.TrimPrefix(os.Args[2], "write:"), Offline: offline == "yes"}))
	}
	os.Exit(m.Run())
}

// kept is a command line under a keeper.
type kept struct {
	cmd      *exec.Cmd
	lifeline io.Closer
	out      *bytes.Buffer
}

func keep(t *testing.T, line string) kept {
	t.Helper()
	k := kept{cmd: exec.Command("/proc/self/exe", "keep", "write:", line), out: &bytes.Buffer{}}
	k.cmd.Stdout, k.cmd.Stderr = k.out, k.out
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	lifeline, err := k.cmd.StdinPipe()
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	k.lifeline = lifeline
	t.Cleanup(func() { _ = k.cmd.Process.Kill() })
	return k
}

// fugitives are ways in which a command may try to outlive its end. Each writes its process ID to a pipe, to prove that it runs.
var fugitives = map[string]string{
	"in the background":                `sh -c 'echo $$ >"$0"; exec sleep 1000' PIPE & `,
	"in its own session":               `setsid sh -c 'echo $$ >"$0"; exec sleep 1000' PIPE & `,
	"a daemon":                         `setsid sh -c '(trap "" TERM HUP INT; setsid sh -c "echo \$\$ >PIPE; exec sleep 1000" & exit)'; `,
	"deaf":                             `setsid sh -c 'trap "" TERM HUP INT; echo $$ >"$0"; while :; do sleep 1; done' PIPE & `,
	"without its environment":          `env -i "$(command -v setsid)" sh -c 'echo $$ >"$0"; exec sleep 1000' PIPE & `,
	"by a grandchild of a dead parent": `(setsid sh -c '(sh -c "echo \$\$ >PIPE; exec sleep 1000" &) ; sleep 1000' & ) ; `,
}

// TestNothingOutlivesACommand: no process outlives the command or the process that started it.
func TestNothingOutlivesACommand(t *testing.T) {
	t.Parallel()
	for name, line := range fugitives {
		for _, end := range []string{"its end", "its lifeline's", "kill 0"} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				pipe, pid := announced(t)
				line := strings.ReplaceAll(line, "PIPE", pipe) + map[string]string{
					"its end":        "cat " + pipe + ".go; exit 7",
					"its lifeline's": "sleep 1000",
					"kill 0":         "cat " + pipe + ".go; kill 0; sleep 1000",
				}[end]
				if err := syscall.Mkfifo(pipe+".go", 0o600); err != nil {
					t.Fatal(err)
				}
				k := keep(t, line)
				fugitive := pid()
				if end == "its lifeline's" {
					k.lifeline.Close()
				} else if err := os.WriteFile(pipe+".go", nil, 0); err != nil {
					t.Fatal(err)
				}
				err := k.cmd.Wait()
				want := map[string]int{"its end": 7, "its lifeline's": 128 + int(syscall.SIGKILL), "kill 0": 128 + int(syscall.SIGTERM)}[end]
				if code, exited := ExitCode(err); code != want || !exited {
					t.Errorf("it ended with %d (%v), want %d: %s", code, err, want, k.out)
				}
				if err := syscall.Kill(fugitive, 0); err != syscall.ESRCH {
					t.Errorf("process %d lives on (%v)", fugitive, err)
				}
			})
		}
	}
}

// announced returns a pipe to which a process writes its ID.
func announced(t *testing.T) (path string, pid func() int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() (pid int) {
		t.Helper()
		text, err := os.ReadFile(path) // blocks until the writer opens it
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
}

// TestOthersLive: a keeper ends only its own descendants.
func TestOthersLive(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	k := keep(t, "setsid sleep 1000 & exit 0")
	if err := k.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, k.out)
	}
	if err := syscall.Kill(other.Process.Pid, 0); err != nil {
		t.Errorf("a process that is not the command's is gone: %v", err)
	}
	_ = other.Process.Kill()
	if err := other.Wait(); err == nil {
		t.Error("it could not be waited for")
	}
}

// A command that forks faster than it can be killed is still ended.
func TestForkStorm(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	k := keep(t, `i=0; while [ $i -lt 60 ]; do i=$((i+1)); setsid sh -c '(sleep 1000 & sleep 1000 &) & (setsid sleep 1000 &)' & done; exit 3`)
	err := k.cmd.Wait()
	if code, _ := ExitCode(err); code != 3 || time.Since(begin) > time.Minute {
		t.Errorf("%v after %v: %s", err, time.Since(begin), k.out)
	}
}

// run runs a command line under rules, without a keeper.
func run(t *testing.T, r Rules, line string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &out
	if err := Start(cmd, r); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return out.String(), err
}

// needs skips a test if the kernel lacks a feature.
func needs(t *testing.T, lacking error) {
	t.Helper()
	if lacking != nil {
		t.Skip(lacking)
	}
}

func TestConfined(t *testing.T) {
	t.Parallel()
	needs(t, Confinement())
	for name, line := range map[string]string{
		"make":         `echo x >OUT/new`,
		"append":       `echo x >>OUT/there`,
		"empty":        `: >OUT/there`,
		"truncate":     `truncate -s 0 OUT/there`,
		"remove":       `rm -f OUT/there`,
		"rename":       `mv OUT/there OUT/other`,
		"move in":      `mv OUT/there IN/`,
		"move out":     `echo x >IN/a && mv IN/a OUT/`,
		"link out":     `echo x >IN/b && ln IN/b OUT/b`,
		"symlink":      `ln -s /etc/passwd OUT/link`,
		"through link": `ln -s OUT/there IN/link; echo x >IN/link`,
		"folder":       `mkdir OUT/folder`,
		"pipe":         `mkfifo OUT/fifo`,
		"dots":         `echo x >IN/../OUTER/there`,
		"by a child":   `sh -c 'setsid sh -c "echo x >OUT/there"'`,
		"chown":        `chown 1:1 OUT/there`,
		"environment":  fmt.Sprintf(`cat /proc/%d/environ`, os.Getpid()),
		"memory":       fmt.Sprintf(`cat /proc/%d/maps`, os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := t.TempDir(), t.TempDir()
			there := filepath.Join(out, "there")
			if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			line := strings.NewReplacer("OUTER", "../"+filepath.Base(filepath.Dir(out))+"/"+filepath.Base(out), "OUT", out, "IN", in).Replace(line)
			if text, err := run(t, Rules{Write: in}, line); err == nil {
				t.Errorf("%s: done: %s", line, text)
			}
			got, err := os.ReadFile(there)
			entries, _ := os.ReadDir(out)
			if err != nil || string(got) != "text" || len(entries) != 1 {
				t.Errorf("%s: left %v with %q (%v)", line, entries, got, err)
			}
		})
	}
}

// TestConfinedMay checks what a confined command may do, and this process afterwards.
func TestConfinedMay(t *testing.T) {
	t.Parallel()
	needs(t, Confinement())
	in := t.TempDir()
	line := `mkdir IN/a && echo x >IN/a/b && mv IN/a/b IN/c && rm -r IN/a && cat IN/c /etc/hostname >/dev/null 2>/dev/null; echo a | ` +
		`sort; ls / >/dev/null && echo $$ >IN/pid`
	if text, err := run(t, Rules{Write: in}, strings.ReplaceAll(line, "IN", in)); err != nil || text != "a\n" {
		t.Errorf("%v: %q", err, text)
	}
	for range 50 { // on any thread
		done := make(chan error)
		go func() { done <- os.WriteFile(filepath.Join(t.TempDir(), "free"), nil, 0o600) }()
		if err := <-done; err != nil {
			t.Fatalf("this process is confined: %v", err)
		}
	}
}

func TestConfinedSendsNoSignals(t *testing.T) {
	t.Parallel()
	if version, err := landlockVersion(); err != nil || version < versionScope {
		t.Skip("this kernel's Landlock does not know signals")
	}
	if text, err := run(t, Rules{Write: t.TempDir()}, fmt.Sprintf("kill -CONT %d", os.Getpid())); err == nil {
		t.Errorf("it could: %s", text)
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	needs(t, Offline())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python here")
	}
	const script = `
import socket
for family, kind in [("INET", "STREAM"), ("INET", "DGRAM"), ("INET6", "STREAM"), ("UNIX", "STREAM"),
                     ("NETLINK", "RAW"), ("PACKET", "RAW"), ("ALG", "SEQPACKET")]:
    try: socket.socket(getattr(socket, "AF_" + family), getattr(socket, "SOCK_" + kind)); print("open", family)
    except PermissionError: pass
`
	for _, r := range []Rules{{Offline: true}, {Write: t.TempDir(), Offline: true}} {
		if text, err := run(t, r, python+" -c '"+script+"'"); err != nil || text != "" {
			t.Errorf("under %+v: %v, %s", r, err, text)
		}
	}
	dial := fmt.Sprintf(`import socket; socket.create_connection(("127.0.0.1", %d)); print("open")`, listener.Addr().(*net.TCPAddr).Port)
	if text, err := run(t, Rules{Write: t.TempDir()}, python+" -c '"+dial+"'"); err != nil || text != "open\n" {
		t.Errorf("with a network: %v, %s", err, text)
	}
	if text, err := run(t, Rules{Offline: true}, `echo a | cat; sh -c 'ls / >/dev/null' && echo b`); err != nil || text != "a\nb\n" {
		t.Errorf("without sockets: %v, %q", err, text)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	needs(t, Confinement())
	err := Start(exec.Command("true"), Rules{Write: filepath.Join(t.TempDir(), "gone")})
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestCheckFolder(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o770: false, 0o777: false, 0o777 | os.ModeSticky: false} {
		dir := filepath.Join(t.TempDir(), "home")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := CheckFolder(dir); (err == nil) != want {
			t.Errorf("%v: %v", mode, err)
		}
		if os.Geteuid() == 0 && mode == 0o700 {
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			if err := CheckFolder(dir); err == nil {
				t.Error("the folder of another user is accepted")
			}
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/nowhere"} {
		if CheckFolder(path) == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}

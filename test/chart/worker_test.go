package chart

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// The worker's own parser accepts the arguments of all pods. With --help, it parses all flags and does nothing.
func TestArguments(t *testing.T) {
	each(t, func(t *testing.T, o objects) {
		for _, d := range o.deployments {
			if out, err := exec.Command(worker, append(slices.Clone(args(d)), "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: worker refuses %q: %v\n%s", d.Name, args(d), err, out)
			}
			if exec.Command(worker, append(slices.Clone(args(d)), "--nonsense", "--help")...).Run() == nil {
				t.Error("the worker accepts every flag")
			}
		}
	})
}

// A worker starts with the arguments, the variables and the ConfigMap of each role, laid out as Kubernetes does. While it waits for
// Temporal, it answers the probes of its pod: it lives, and it is not ready.
func TestProbes(t *testing.T) {
	t.Parallel()
	o := render(t, "testdata/everything.yaml")
	for _, d := range o.deployments {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			temporal, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			health := freeAddress(t)
			start(t, d, temporal, health, mount(t, o.configMaps[0].Data))
			silent, err := temporal.Accept() // the worker has read its configuration and opened its store
			if err != nil {
				t.Fatalf("the worker ended before it connected to Temporal: %v", err)
			}
			defer silent.Close()
			container := d.Spec.Template.Spec.Containers[0]
			if live := container.LivenessProbe.HTTPGet; portOf(d, live.Port.StrVal) != 8080 || status(t, health, live.Path) != http.StatusOK {
				t.Errorf("the liveness probe %+v fails", live)
			}
			ready := container.ReadinessProbe.HTTPGet
			if portOf(d, ready.Port.StrVal) != 8080 || status(t, health, ready.Path) != http.StatusServiceUnavailable {
				t.Errorf("the readiness probe %+v does not say that the worker is not ready", ready)
			}
		})
	}
}

// start starts a worker as the pod does, until the test ends. When the worker ends, it closes the listener temporal.
func start(t *testing.T, d appsv1.Deployment, temporal net.Listener, health, config string) {
	t.Helper()
	var changed []string
	for _, arg := range args(d) {
		arg = strings.ReplaceAll(arg, "/config", config)
		changed = append(changed, strings.ReplaceAll(arg, "0.0.0.0:8080", health))
	}
	if slices.Equal(changed, args(d)) || !strings.Contains(strings.Join(changed, " "), health) {
		t.Fatalf("the pod's arguments have neither /config nor 0.0.0.0:8080: %q", args(d))
	}
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, worker, changed...)
	cmd.Stderr = &log
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		switch {
		case e.ValueFrom == nil && !strings.HasPrefix(e.Name, "TEMPORAL_"):
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		case e.Name == "METRICS_SHA256":
			cmd.Env = append(cmd.Env, e.Name+"="+strings.Repeat("a", 64))
		}
	}
	data := t.TempDir()
	cmd.Env = append(cmd.Env, "HOME="+data, "INQUEST_STORE="+filepath.Join(data, "store.db"), "TEMPORAL_ADDRESS="+temporal.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the log has the reason
		temporal.Close()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the worker's log:\n%s", &log)
		}
	})
}

// mount writes the files of a ConfigMap to a folder in which Kubernetes would mount it: links to a folder of this version.
func mount(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	const version = "..2026_01_01_00_00_00.1"
	if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"..data": version}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, version, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		links[name] = "..data/" + name
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func status(t *testing.T, address, path string) int {
	t.Helper()
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

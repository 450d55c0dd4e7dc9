package api

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// victimEnv holds the store, the configuration folder and the address for a process that serves the API until it is killed.
const victimEnv = "INQUEST_TEST_API_VICTIM"

func TestMain(m *testing.M) {
	if what := os.Getenv(victimEnv); what != "" {
		fmt.Fprintln(os.Stderr, serveVictim(context.Background(), strings.Fields(what)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serveVictim(ctx context.Context, what []string) error {
	cfg, err := configuration.Load(configuration.Source{Dir: what[1], Env: os.LookupEnv, SkipCredentials: true})
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.At(what[0]))
	if err != nil {
		return err
	}
	api, err := New(ctx, Options{
		System: client.Over(&temporal{started: map[string]*workflowpb.WorkflowExecutionInfo{}}, payload.Keys{}, st, workflows.TaskQueue, ""),
		Config: func() *configuration.Config { return cfg }, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", what[2])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return api.Serve(ctx, listener)
}

// victim is a process that serves the API on one address and is restarted after each kill.
type victim struct {
	*testing.T
	url, what string
	mu        sync.Mutex
	cmd       *exec.Cmd
	killed    int
}

func startVictim(t *testing.T, target string) *victim {
	t.Helper()
	address, err := processtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{T: t, url: "http://" + address, what: strings.Join([]string{target, write(t, "system: {}\n"+oneChain), address}, " ")}
	v.start()
	t.Cleanup(func() { _ = v.cmd.Process.Kill(); _ = v.cmd.Wait() })
	return v
}

func (v *victim) start() {
	v.cmd = exec.Command(os.Args[0], "-test.run=^$")
	v.cmd.Env, v.cmd.Stderr = append(os.Environ(), victimEnv+"="+v.what), os.Stderr
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		v.Error(err)
		return
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		v.Errorf("it says %q, %v", line, err)
	}
}

// kill kills the process with kill -9 during its work and starts another.
func (v *victim) kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
	v.killed++
	v.start()
}

// storm sends alerts, one per delivery, in groups, until each is answered with 2xx.
func storm(t *testing.T, urls []string, alerts, groups, at int, took func(n int)) {
	t.Helper()
	var group sync.WaitGroup
	queue, begun := make(chan int), time.Now()
	for range at {
		group.Go(func() {
			for n := range queue {
				for t.Context().Err() == nil {
					r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, urls[n%len(urls)]+"/webhooks/alertmanager",
						strings.NewReader(firing("firing", n%groups, n)))
					r.Header.Set("Content-Type", "application/json")
					response, err := http.DefaultClient.Do(r)
					if err != nil && time.Since(begun) < 5*time.Minute {
						time.Sleep(10 * time.Millisecond) // as the sender does
						continue
					}
					if err != nil {
						t.Errorf("alert %d: %v", n, err)
						break
					}
					said, _ := io.ReadAll(response.Body)
					_ = response.Body.Close()
					if response.StatusCode < 300 {
						break
					}
					if response.StatusCode < 500 || time.Since(begun) > 5*time.Minute {
						t.Errorf("alert %d: %d %s", n, response.StatusCode, said)
						break
					}
				}
				took(n)
			}
		})
	}
	for n := range alerts {
		queue <- n
	}
	close(queue)
	group.Wait()
}

// onStores runs a test on each kind of store.
func onStores(t *testing.T, each func(t *testing.T, target string)) {
	t.Run("sqlite", func(t *testing.T) { each(t, filepath.Join(t.TempDir(), "inquest.db")) })
	t.Run("postgres", func(t *testing.T) { each(t, postgrestest.Start(t).Database(t, "hooks")) })
}

// A storm of 5,000 alerts (1,000 with -short) starts as many investigations as the limit allows, even though workers die meanwhile,
// and no alert is lost.
func TestAlertStorm(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, target string) {
		alerts, groups := 5000, 25
		if testing.Short() {
			alerts = 1000
		}
		limits := webhook.Limits{Running: 10, PerMinute: 1000}
		w := openOn(t, "system: {}\n"+oneChain, target)
		i := w.intake(limits)
		kills := 0
		i.dies = func() bool { kills++; return kills%3 == 1 }
		ctx, stop := context.WithCancel(t.Context())
		placing := make(chan struct{})
		go func() { // the intake workflow
			defer close(placing)
			for ctx.Err() == nil {
				_, _ = w.place(i) // failures are retried
				time.Sleep(50 * time.Millisecond)
			}
		}()
		begun := time.Now()
		storm(t, []string{w.url}, alerts, groups, 50, func(int) {})
		took := time.Since(begun)
		stop()
		<-placing
		for range 3 {
			if _, err := w.place(i); err != nil {
				t.Log(err)
			}
		}
		check := func(running int) map[string]int {
			t.Helper()
			all, err := w.store.Alerts(t.Context(), store.AlertFilter{Limit: 2 * alerts})
			places, fingerprints := map[string]int{}, map[string]bool{}
			for _, r := range all {
				places[r.Place]++
				fingerprints[r.Fingerprint] = true
				if r.Place == webhook.Joined && r.Lead == "" || r.Place == webhook.Started && r.Investigation == "" {
					t.Errorf("%+v is nowhere", r)
				}
			}
			if err != nil || len(all) != alerts || len(fingerprints) != alerts || len(w.temporal.started) != running ||
				places["started"] != running {
				t.Errorf("%d alerts: %v, %d investigations, %v", len(all), places, len(w.temporal.started), err)
			}
			return places
		}
		places := check(limits.Running)
		t.Logf("%d alerts in %s: %v, woken %d times, told %d", alerts, took.Round(time.Millisecond), places, w.temporal.wakes, len(i.received))
		// When there is room, the queued groups get their investigations.
		for _, r := range w.alerts("place=started") {
			end := time.Now()
			name, _ := workflows.WorkflowOf(r.Investigation)
			if err := w.store.FinishInvestigation(t.Context(), record.Investigation{ID: r.Investigation, WorkflowID: name, StartedAt: end,
				EndedAt: &end}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			_, _ = w.place(i)
		}
		check(2 * limits.Running)
	})
}

// A delivery whose receiver is killed is sent again and counts once.
func TestKilledReceivers(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, target string) {
		const alerts, groups = 600, 6
		w := openOn(t, "system: {}\n"+oneChain, target)
		victims := []*victim{startVictim(t, target), startVictim(t, target)}
		var mu sync.Mutex
		done := 0
		storm(t, []string{victims[0].url, victims[1].url}, alerts, groups, 16, func(int) {
			mu.Lock()
			defer mu.Unlock()
			if done++; done%150 == 0 {
				victims[done/150%2].kill()
			}
		})
		i := w.intake(webhook.Limits{Running: 4, PerMinute: 1000})
		for range 2 {
			if _, err := w.place(i); err != nil {
				t.Fatal(err)
			}
		}
		all, err := w.store.Alerts(t.Context(), store.AlertFilter{Limit: 2 * alerts})
		names := map[string]bool{}
		for _, r := range all {
			names[r.Fingerprint] = true
		}
		if err != nil || len(all) != alerts || len(names) != alerts || len(w.temporal.started) != 4 {
			t.Errorf("%d rows of %d alerts, %d investigations, %v", len(all), len(names), len(w.temporal.started), err)
		}
		if slices.ContainsFunc(victims, func(v *victim) bool { return v.killed == 0 }) {
			t.Error("nobody was killed")
		}
	})
}

// A delivery of 5,000 alerts is accepted as a whole within Alertmanager's timeout.
func TestLargeDelivery(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector it would take several times as long")
	}
	t.Parallel()
	w := hooked(t, "")
	names := make([]int, 5000)
	for n := range names {
		names[n] = n
	}
	begun := time.Now()
	got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", firing("firing", 1, names...))
	if took := time.Since(begun); got.New != len(names) || took > 20*time.Second {
		t.Errorf("%+v in %s", got, took)
	}
	t.Logf("%s", time.Since(begun))
}

// If the store is busy for longer than a sender waits, the sender is asked to send again before it gives up.
func TestBusyStore(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	w.api.webhooks.timeout = 100 * time.Millisecond
	other, err := sql.Open("sqlite", w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	got := w.call("", "POST", "/webhooks/alertmanager", firing("firing", 1, 1, 2))
	if took := time.Since(begun); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || took > 5*time.Second {
		t.Errorf("%d %v %s in %s", got.status, got.header, got.body, took)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	w.api.webhooks.timeout = deliveryTimeout
	if got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", firing("firing", 1, 1, 2)); got.New != 2 {
		t.Errorf("%+v", got)
	}
}

// If only a part of a delivery is stored, the stored alerts start. When it is sent again, only the rest is new.
func TestStoredInPart(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	other, err := sql.Open("sqlite", w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	run := func(query string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE TRIGGER breaks BEFORE INSERT ON alerts WHEN new.fingerprint = 'f120' BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	names := make([]int, maxBatch+50)
	for n := range names {
		names[n] = n
	}
	body := firing("firing", 1, names...)
	if got := w.call("", "POST", "/webhooks/alertmanager", body); got.status < 500 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if rows := w.alerts(""); len(rows) != maxBatch || w.temporal.wakes != 1 {
		t.Errorf("%d alerts, woken %d times", len(rows), w.temporal.wakes)
	}
	run(`DROP TRIGGER breaks`)
	got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", body)
	if want := (webhook.Counts{New: 50, Known: maxBatch}); got.Counts != want || len(w.alerts("")) != len(names) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

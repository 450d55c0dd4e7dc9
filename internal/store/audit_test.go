package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// onBoth runs a test on a store of each kind.
func onBoth(t *testing.T, test func(t *testing.T, target string)) {
	targets := map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "inquest.db") },
		"postgres": func(t *testing.T) string { return postgrestest.Start(t).Database(t, "audit") },
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, target(t))
		})
	}
}

func TestAuditTrail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target string) {
		s, at := open(t, target), time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
		yes := audit.Act{
			Investigation: "a", At: at, What: audit.Decided, Who: "Ada\x00", Channel: "cli", Execution: "s/A", Call: "c1_0", Tool: "k8s.scale",
			Detail: audit.Detail("decision", "approved", "reason", "", "digest", "d\x00"), Key: "k",
		}
		write(t, s, yes, yes)
		write(t, s, audit.Act{Investigation: "b", At: at.Add(-time.Second), What: audit.Guided, Who: "Bob"})
		write(t, s, audit.Act{At: at.Add(time.Second), What: audit.RuleAdded, Who: "Ada"})
		var got []string
		for _, filter := range []store.ActFilter{
			{}, {Who: "Bob"}, {Tool: "k8s.scale", Since: at.Add(-time.Microsecond)}, {Investigation: "b", Who: "Ada"},
			{Investigation: "b", Limit: 1}, {Investigation: "b", Limit: 1, After: 1},
		} {
			line := ""
			if err := s.Acts(t.Context(), filter, func(a audit.Act) error {
				line += fmt.Sprintf(" %s/%d %s %s %s", a.Investigation, a.N, a.What, a.Who, a.Detail)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		decided := ` a/1 decided Ada` + "\uFFFD" + ` {"decision":"approved","digest":"d\u0000"}`
		want := []string{" b/1 guided Bob {}" + decided + " /1 rule-added Ada {}", " b/1 guided Bob {}", decided, "", " b/1 guided Bob {}", ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("acts (-want +got):\n%s", diff)
		}
		checkFault(t, s, "", "")
		first := anchor(t, s)
		if repeated := anchor(t, s); repeated.Hash != first.Hash || first.N != 1 {
			t.Errorf("nothing is new, and the head is %+v after %+v", repeated, first)
		}
		write(t, s, audit.Act{Investigation: "b", What: audit.Paused})
		if second := anchor(t, s); second.N != 2 || strings.Contains(string(second.Marks), `"a"`) {
			t.Errorf("the second anchor: %+v", second)
		}
		checkFault(t, s, first.Hash, "")
		checkFault(t, s, "of another store", "no anchor has the hash")
	})
}

// TestAuditTrailTampered: every change of rows with SQL is detected, unless the attacker also rewrites all later rows and no anchor
// was noted elsewhere.
func TestAuditTrailTampered(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target string) {
		s, ctx := open(t, target), t.Context()
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 60 {
			write(t, s, audit.Act{
				Investigation: fmt.Sprint("inv-", random.IntN(5)), What: audit.Decided, Who: fmt.Sprint("who-", n), Tool: "t",
				Detail: audit.Detail("n", fmt.Sprint(n)), Key: fmt.Sprint(n),
			})
			if n%7 == 0 {
				anchor(t, s)
			}
		}
		checkFault(t, s, "", "")
		const a, b = `investigation = 'inv-1' AND n = 2`, `investigation = 'inv-1' AND n = 3`
		last := `n = (SELECT MAX(n) FROM audit AS o WHERE o.investigation = audit.investigation) AND investigation = 'inv-2'`
		tampers := map[string][]string{
			"a row is deleted":        {`DELETE FROM audit WHERE ` + a},
			"the first row is":        {`DELETE FROM audit WHERE investigation = 'inv-3' AND n = 1`},
			"the last row is":         {`DELETE FROM audit WHERE ` + last},
			"a chain is":              {`DELETE FROM audit WHERE investigation = 'inv-4'`},
			"a chain and its end are": {`DELETE FROM audit WHERE investigation = 'inv-4'`, `DELETE FROM audit_heads WHERE investigation = 'inv-4'`},
			"an end is":               {`DELETE FROM audit_heads WHERE investigation = 'inv-4'`},
			"an end is moved":         {`UPDATE audit_heads SET n = n - 1 WHERE investigation = 'inv-4'`},
			"an anchor is deleted":    {`DELETE FROM audit_anchors WHERE n = 3`},
			"an anchor is changed":    {`UPDATE audit_anchors SET marks = '[]' WHERE n = 3`},
			"rows are swapped": {
				`UPDATE audit SET n = -1 WHERE ` + a, `UPDATE audit SET n = 2 WHERE ` + b,
				`UPDATE audit SET n = 3 WHERE investigation = 'inv-1' AND n = -1`,
			},
			"a row is put behind the end": {`INSERT INTO audit SELECT investigation, n + 1, at, what, who, channel, 
				execution, call, tool, detail, '', hash FROM audit WHERE ` + last},
			"a row goes to another chain": {`UPDATE audit SET investigation = 'inv-9' WHERE ` + last},
		}
		for _, column := range []string{"what", "who", "channel", "execution", "call", "tool", "detail", "key", "hash"} {
			tampers["a byte more of "+column] = []string{fmt.Sprintf(`UPDATE audit SET %[1]s = %[1]s || ' ' WHERE %[2]s`, column, a)}
			if column != "channel" && column != "execution" && column != "call" && column != "key" {
				tampers["a byte less of "+column] = []string{fmt.Sprintf(`UPDATE audit SET %[1]s = substr(%[1]s, 2) WHERE %[2]s`, column, a)}
			}
		}
		tampers["a microsecond"] = []string{`UPDATE audit SET at = at + 1 WHERE ` + b}
		for name, tamper := range tampers {
			if fault := s.Tampered(t, tamper); fault == "" {
				t.Errorf("%s, and nothing is found", name)
			}
		}
		checkFault(t, s, "", "") // each change was undone

		// The anchors reveal a rewritten chain. If the anchors are rewritten, too, an anchor that was noted elsewhere reveals it.
		noted := anchor(t, s)
		s.Rewrite(t, "inv-1", false)
		checkFault(t, s, "", "anchored")
		s.Rewrite(t, "inv-1", true)
		checkFault(t, s, "", "")
		checkFault(t, s, noted.Hash, "no anchor has the hash")
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAuditTrailAtOnce: several processes write to the same chains while another one anchors them, and all are killed. No stored
// fact lacks its row, and no chain is broken.
func TestAuditTrailAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target string) {
		s := open(t, target)
		var writers sync.WaitGroup
		for n := range 3 {
			writers.Go(func() {
				if err := auditUntilKilled(t.Context(), target, n, 40); err != nil {
					t.Error(err)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			writers.Wait()
			close(done)
		}()
		for writing := true; writing; {
			select {
			case <-done:
				writing = false
			default:
			}
			anchor(t, s)
			checkFault(t, s, "", "")
		}
		rows := 0
		if err := s.Acts(t.Context(), store.ActFilter{}, func(audit.Act) error { rows++; return nil }); err != nil {
			t.Fatal(err)
		}
		facts := 0
		for n := range 2 {
			entries, err := s.After(t.Context(), fmt.Sprint("inv-", n), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			facts += len(entries)
		}
		if rows != facts || facts < 3*40 {
			t.Errorf("%d rows about %d facts", rows, facts)
		}
	})
}

// auditEnv makes a process write facts with their acts to the store that it names until it is killed.
const auditEnv = "INQUEST_TEST_AUDIT_VICTIM"

func auditVictim(ctx context.Context, target string) error {
	var who string
	if _, err := fmt.Sscan(os.Args[len(os.Args)-1], &who); err != nil {
		return err
	}
	s, err := store.Open(ctx, store.At(target))
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		step := stepAt(n+1, 1)
		step.Investigation, step.Execution = fmt.Sprint("inv-", n%2), "stage/"+who
		step.Rows[0].Acts = []audit.Act{{What: audit.Decided, Who: who}}
		if _, err := s.Append(ctx, step); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// auditUntilKilled kills a victim after it has written the given number of facts.
func auditUntilKilled(ctx context.Context, target string, n, facts int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, fmt.Sprint("who-", n))
	cmd.Env = append(os.Environ(), auditEnv+"="+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		if n == facts {
			err = cmd.Process.Kill()
		}
	}
	if end := cmd.Wait(); err == nil && cmd.ProcessState.Exited() {
		err = fmt.Errorf("the victim ended by itself: %w", end)
	}
	return err
}

func write(t *testing.T, s *store.Store, acts ...audit.Act) {
	t.Helper()
	if err := s.Audit(t.Context(), acts...); err != nil {
		t.Fatal(err)
	}
}

func anchor(t *testing.T, s *store.Store) audit.Anchor {
	t.Helper()
	a, err := s.Anchor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// checkFault verifies the trail. fault is part of the expected fault; empty means none.
func checkFault(t *testing.T, s *store.Store, head, fault string) {
	t.Helper()
	found, err := s.VerifyAudit(t.Context(), head)
	if err != nil || (found.Fault == "") != (fault == "") || !strings.Contains(found.Fault, fault) {
		t.Errorf("found %+v, %v; want %q", found, err, fault)
	}
}

// TestActsOfFacts: the audit trail contains each act of a person that the store is told about, once.
func TestActsOfFacts(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, filepath.Join(t.TempDir(), "inquest.db")), t.Context()
	inv := record.Investigation{ID: "inv", WorkflowID: "lab", RunID: "r", Writer: "r", PlanHash: "p", Chain: "c", Status: "running",
		StartedAt: time.Now()}
	inv.Envelope.By = "Ada"
	waits := record.Waiting{Investigation: "inv", RunID: "r", Seq: 1, Status: "waiting_approval", Waits: record.Waits{
		Approvals: []record.Approval{{CallID: "c1_0", Tool: "k8s.scale", Risk: "writing", Arguments: `{"n":2}`, Digest: "d", Execution: "s/A"}},
		Questions: []record.Question{{ID: "q1", Kind: "clarification", Stage: "s", Question: "Which?"}},
	}}
	ended := inv
	now := time.Now()
	ended.Status, ended.EndReason, ended.EndedAt = "completed", "completed", &now
	for range 2 { // every step may be repeated
		for _, err := range []error{
			s.StartInvestigation(ctx, inv),
			s.SetWaiting(ctx, waits),
			s.Post(ctx, transcript.Letter{Investigation: "inv", Ordinal: 1, RunID: "r", Agent: "A", By: "Bob", Text: "look", At: now}, nil),
			s.FinishInvestigation(ctx, ended),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.ReopenInvestigation(ctx, "inv", "r2"); err != nil {
		t.Fatal(err)
	}
	call := transcript.Step{Scope: transcript.Scope{Investigation: "inv", Execution: "s/A"},
		Writer: transcript.Writer{RunID: "r", ActivityID: "1"}}
	called := transcript.Body{Call: &transcript.Call{ID: "c2_0", Name: "k8s.scale"},
		Result: transcript.Result{Rule: "r-1", Decision: "let through"}}
	used := audit.Act{What: audit.RuleUsed, Call: "c2_0", Tool: "k8s.scale", Detail: audit.Detail("rule", "r-1")}
	call.Rows = []transcript.Row{{Key: transcript.CallKey(2, 0), Kind: transcript.KindCall, Body: called, Acts: []audit.Act{used}}}
	rule := remember.Rule{ID: "r-1", Tool: "k8s.scale", By: "Ada", Because: "it is safe", Created: now, Where: remember.Where{Project: "p"}}
	if err := s.AddRule(ctx, rule); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := s.RevokeRule(ctx, "r-1", remember.Revoked{By: "Eve", At: now, Why: "it is not"})
		if _, appended := s.Append(ctx, call); errors.Join(err, appended) != nil {
			t.Fatal(err, appended)
		}
	}
	var got []string
	if err := s.Acts(ctx, store.ActFilter{}, func(a audit.Act) error {
		if a.What == audit.RuleAdded {
			a.Detail = nil
		}
		got = append(got,
			strings.Join(strings.Fields(fmt.Sprintf("%d %s %s %s %s %s %s", a.N, a.What, a.Who, a.Execution, a.Call, a.Tool, a.Detail)), " "))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got) // by number
	want := []string{
		`1 rule-added Ada r-1 k8s.scale`,
		`1 started Ada {"chain":"c","plan":"p","workflow":"lab"}`,
		`2 asked s/A c1_0 k8s.scale {"arguments":"{\"n\":2}","digest":"d","risk":"writing"}`,
		`2 rule-revoked Eve r-1 {"project":"p","why":"it is not"}`,
		`3 asked q1 {"kind":"clarification","question":"Which?","stage":"s"}`,
		`4 guided Bob {"agent":"A","text":"look"}`,
		`5 ended {"reason":"completed","status":"completed"}`,
		`6 reset {"run":"r2"}`,
		`7 rule-used s/A c2_0 k8s.scale {"rule":"r-1"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
}

// A verification warns about the things that it cannot prove: for an empty trail, for one without anchors, and without a head that
// is kept elsewhere.
func TestVerificationSaysWhatItCannotProve(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "inquest.db"))
	check := func(head string, want ...string) {
		t.Helper()
		found, err := s.VerifyAudit(t.Context(), head)
		if err != nil || found.Fault != "" || len(found.Warnings) != len(want) {
			t.Errorf("found %+v, %v; want %q", found, err, want)
			return
		}
		for n, text := range want {
			if !strings.Contains(found.Warnings[n], text) {
				t.Errorf("%q has no %q", found.Warnings[n], text)
			}
		}
	}
	check("", "the audit trail is empty", "without --head")
	write(t, s, audit.Act{Investigation: "inv", What: "started", Who: "Ada", At: time.Now(), Detail: []byte("{}")})
	check("", "no anchor covers any row", "without --head")
	head := anchor(t, s)
	check("", "without --head")
	check(head.Hash)
}

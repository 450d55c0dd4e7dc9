package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// learnings opens the learnings of a new store.
func learnings(open opener) *store.Store { return open().(*store.Store) }

func learnable(texts ...string) (all []learning.Learning) {
	for _, text := range texts {
		all = append(all, learning.Learning{
			Kind: learning.Semantic, Polarity: learning.Neutral, Text: text, Confidence: learning.Initial, Chain: "c", Rows: []int64{4},
			Untrusted: []string{"the request"},
		})
	}
	return all
}

func idsOf(found []learning.Scored) (ids []int64) {
	for _, s := range found {
		ids = append(ids, s.ID)
	}
	return ids
}

// testLearnings: an investigation teaches once, and its learnings are found by their words.
func testLearnings(t *testing.T, open opener) {
	s, ctx, now := learnings(open), t.Context(), time.Now().UTC().Truncate(time.Second)
	taught := learning.Taught{Investigation: "a", At: now, New: learnable(
		"The pool of payments has 20 connections", "Error rates of checkout double \x00 during the nightly batch",
		"The POOL of payments has 20 connections.",
	)}
	out := must(s.Learn(ctx, "", taught))(t)
	same(t, "outcome", out, learning.Outcome{Created: []int64{1, 2}, Confirmed: nil})
	taught.New = learnable("Something else")
	same(t, "second call", must(s.Learn(ctx, "default", taught))(t), out)
	known, there, err := s.Learned(ctx, "a")
	same(t, "learned", []any{known, there, err}, []any{out, true, nil})
	if _, there, err := s.Learned(ctx, "b"); there || err != nil {
		t.Errorf("b has taught something (%v)", err)
	}
	want := learnable("The pool of payments has 20 connections")[0]
	want.ID, want.Project, want.Investigation, want.Created, want.Changed = 1, "default", "a", now, now
	want.Basis = learning.Basis{Confidence: learning.Initial, At: now}
	same(t, "one", must(s.Learning(ctx, "", 1))(t), want)
	for name, query := range map[string]struct {
		text string
		want []int64
	}{
		"a word":       {"payments", []int64{1}},
		"another form": {"the connection of a payment", []int64{1}},
		"several":      {`{"alert": "checkout-errors", "batch": "nightly", "pool": 1}`, []int64{2, 1}},
		"none":         {"redis", nil},
		"nothing":      {"", nil},
		"syntax":       {`" OR "pool:* ' & (`, []int64{1}},
	} {
		found := must(s.FindLearnings(ctx, learning.Query{Text: query.text, Limit: 5, Now: now}))(t)
		same(t, name, idsOf(found), query.want)
	}
	later := learning.Taught{Investigation: "b", At: now.Add(time.Hour), Confirmed: []int64{1, 9}, Contradicted: []int64{2}}
	same(t, "later", must(s.Learn(ctx, "", later))(t), learning.Outcome{Confirmed: []int64{1}, Contradicted: []int64{2}})
	up, down := must(s.Learning(ctx, "", 1))(t), must(s.Learning(ctx, "", 2))(t)
	if up.Confirmed != 1 || up.Confidence <= learning.Initial || down.Contradicted != 1 || down.Confidence >= learning.Initial {
		t.Errorf("confirmed: %+v, contradicted: %+v", up, down)
	}
	again := learning.Taught{Investigation: "c", At: now.Add(2 * time.Hour), New: learnable("the pool of Payments has 20 connections")}
	same(t, "known words", must(s.Learn(ctx, "", again))(t), learning.Outcome{Confirmed: []int64{1}})

	var all sync.WaitGroup
	for n := range 8 { // two runs of the activity at once
		all.Go(func() {
			taught := learning.Taught{Investigation: fmt.Sprint("at once", n/2), At: now, New: learnable(fmt.Sprint("number ", n))}
			if _, err := s.Learn(ctx, "", taught); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(must(s.Learnings(ctx, learning.Filter{}))(t)); n != 6 {
		t.Errorf("%d learnings, want 6", n)
	}
}

// testLearningsChange: edits, deletions and withdrawals take effect at once, are in the audit trail, and never bring a learning back.
func testLearningsChange(t *testing.T, open opener) {
	s, ctx, now := learnings(open), t.Context(), time.Now().UTC().Truncate(time.Second)
	first := learning.Taught{Investigation: "a", At: now, New: learnable("redis evicts keys", "postgres locks", "kafka lags")}
	must(s.Learn(ctx, "", first))(t)
	must(s.Learn(ctx, "", learning.Taught{Investigation: "b", At: now, New: learnable("nginx restarts")}))(t)
	find := func(text string) []int64 {
		return idsOf(must(s.FindLearnings(ctx, learning.Query{Text: text, Limit: 5, Now: now}))(t))
	}
	ana := audit.Act{At: now, Who: "ana", Channel: "test"}
	edited := must(s.EditLearning(ctx, "", 1, ana, func(l learning.Learning) (learning.Learning, error) {
		return learning.Change{Text: new("valkey evicts keys")}.Apply(l, "ana", now)
	}))(t)
	same(t, "edited", must(s.Learning(ctx, "", 1))(t), edited)
	same(t, "old and new words", [][]int64{find("redis"), find("valkey")}, [][]int64{nil, {1}})
	refused := errors.New("refused")
	refuse := func(l learning.Learning) (learning.Learning, error) { return l, refused }
	if _, err := s.EditLearning(ctx, "", 1, ana, refuse); !errors.Is(err, refused) {
		t.Errorf("a refused edit returned %v", err)
	}
	read := func(id int64, how learning.How) learning.Read {
		return learning.Read{Learning: id, Investigation: "c", How: how, At: now}
	}
	ok(t, s.NoteReads(ctx, "", []learning.Read{
		read(2, learning.Shown), read(2, learning.Recalled), read(2, learning.Shown), read(99, learning.Shown),
	}))
	ok(t, s.DeleteLearning(ctx, "", 2, ana))
	same(t, "deleted words", find("postgres"), []int64(nil))
	for what, err := range map[string]error{
		"read": second(s.Learning(ctx, "", 2)), "delete": s.DeleteLearning(ctx, "", 2, ana),
		"edit": second(s.EditLearning(ctx, "", 2, ana, nil)), "another row": second(s.Learning(ctx, "", 1<<32+1)),
	} {
		if !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%s a deleted learning: %v", what, err)
		}
	}
	reads := []learning.Read{read(2, learning.Recalled), read(2, learning.Shown)}
	same(t, "readers", readsOf(t, s, learning.ReadFilter{Learnings: []int64{2, 3}}), reads)
	late := learning.Read{Learning: 2, Investigation: "late", How: learning.Shown, At: now.Add(time.Second)}
	ok(t, s.NoteReads(ctx, "", []learning.Read{late})) // it was shown before the deletion
	same(t, "late reader", readsOf(t, s, learning.ReadFilter{Investigation: "late"}), []learning.Read{late})
	same(t, "what it read", readsOf(t, s, learning.ReadFilter{Investigation: "c"}), reads)

	by := learning.Withdrawn{By: "ana", At: now, Why: "wrong"}
	all := must(s.WithdrawLearnings(ctx, "", "a", by, ana))(t)
	if len(all) != 2 || all[0].Withdrawn == nil || *all[1].Withdrawn != by {
		t.Errorf("withdrawn: %+v", all)
	}
	same(t, "withdrawn words", [][]int64{find("valkey"), find("kafka"), find("nginx")}, [][]int64{nil, nil, {4}})
	later := learning.Taught{Investigation: "d", At: now, New: learnable("Kafka lags"), Confirmed: []int64{1}}
	same(t, "a withdrawn learning does not come back", must(s.Learn(ctx, "", later))(t), learning.Outcome{})
	must(s.WithdrawLearnings(ctx, "", "e", by, ana))(t)
	early := learning.Taught{Investigation: "e", At: now, New: learnable("etcd is slow")}
	same(t, "learned after the withdrawal", must(s.Learn(ctx, "", early))(t), learning.Outcome{})
	same(t, "in use", len(must(s.Learnings(ctx, learning.Filter{}))(t)), 1)
	same(t, "of a", len(must(s.Learnings(ctx, learning.Filter{Investigation: "a", Withdrawn: true}))(t)), 2)
	same(t, "search", len(must(s.Learnings(ctx, learning.Filter{Search: "kafka", Withdrawn: true, Limit: 1}))(t)), 1)
	same(t, "page", must(s.Learnings(ctx, learning.Filter{Withdrawn: true, Before: 4, Limit: 1}))(t)[0].ID, int64(3))
}

func second[T any](_ T, err error) error { return err }

// testLearningsByMeaning: a learning without a word of the query is found if its vector is near, and its text has not changed.
func testLearningsByMeaning(t *testing.T, open opener) {
	s, ctx, now := learnings(open), t.Context(), time.Now().UTC().Truncate(time.Second)
	must(s.Learn(ctx, "", learning.Taught{Investigation: "a", At: now, New: learnable("out of memory", "certificates expire")}))(t)
	without := must(s.Unembedded(ctx, "", "m", 5))(t)
	same(t, "without vectors", len(without), 2)
	vector := func(model string, values ...float32) learning.Vector {
		return learning.Vector{Model: model, Values: values}
	}
	embed := func(n int, values ...float32) learning.Candidate {
		return learning.Candidate{Learning: without[n], Vector: vector("m", values...)}
	}
	ok(t, s.SetVectors(ctx, "", []learning.Candidate{embed(0, 0, 1), embed(1, 1, 0.25)}))
	same(t, "with vectors", len(must(s.Unembedded(ctx, "", "m", 5))(t)), 0)
	same(t, "of another model", len(must(s.Unembedded(ctx, "", "n", 5))(t)), 2)
	find := func(v learning.Vector) []int64 {
		return idsOf(must(s.FindLearnings(ctx, learning.Query{Text: "OOMKilled", Vector: v, Limit: 5, Now: now}))(t))
	}
	same(t, "near", find(vector("m", 1, 0)), []int64{1})
	same(t, "another model", find(vector("n", 1, 0)), []int64(nil))
	same(t, "another size", find(vector("m", 1, 0, 0)), []int64(nil))
	edit := func(l learning.Learning) (learning.Learning, error) { l.Text = "disks fill up"; return l, nil }
	must(s.EditLearning(ctx, "", 1, audit.Act{At: now}, edit))(t)
	ok(t, s.SetVectors(ctx, "", []learning.Candidate{embed(1, 1, 0)})) // of the old text
	same(t, "edited", find(vector("m", 1, 0)), []int64(nil))

	// Forgotten learnings that are nearer do not take the place of one that is in use.
	for n, at := range []time.Time{now.Add(-2 * 365 * 24 * time.Hour), now} {
		var texts []string
		for m := range 60 - 59*n {
			texts = append(texts, fmt.Sprint("lesson ", n, m))
		}
		must(s.Learn(ctx, "crowd", learning.Taught{Investigation: fmt.Sprint("crowd", n), At: at, New: learnable(texts...)}))(t)
	}
	var crowd []learning.Candidate
	for _, one := range must(s.Unembedded(ctx, "crowd", "m", 100))(t) {
		values := []float32{1, 0}
		if one.ID == 61 {
			values = []float32{1, 0.5}
		}
		crowd = append(crowd, learning.Candidate{Learning: one, Vector: vector("m", values...)})
	}
	ok(t, s.SetVectors(ctx, "crowd", crowd))
	query := learning.Query{Project: "crowd", Text: "OOMKilled", Vector: vector("m", 1, 0), Limit: 5, Now: now}
	same(t, "among forgotten ones", idsOf(must(s.FindLearnings(ctx, query))(t)), []int64{61})
}

// testLearningsFar: the oldest of many learnings is found by its meaning alone, until its vector is of another model or it is gone.
func testLearningsFar(t *testing.T, open opener) {
	s, ctx, now := learnings(open), t.Context(), time.Now().UTC().Truncate(time.Second)
	taught := learning.Taught{Investigation: "a", At: now}
	for n := range 600 { // several blocks of codes
		taught.New = append(taught.New, learnable(fmt.Sprint("number ", n))...)
	}
	must(s.Learn(ctx, "", taught))(t)
	random := rand.New(rand.NewPCG(1, 2))
	vector := func(model string) learning.Vector {
		values := make([]float32, 100) // codes end within a byte
		for n := range values {
			values[n] = float32(random.NormFloat64())
		}
		return learning.Vector{Model: model, Values: values}
	}
	var all []learning.Candidate
	for _, one := range must(s.Unembedded(ctx, "", "m", 1000))(t) {
		all = append(all, learning.Candidate{Learning: one, Vector: vector("m")})
	}
	slices.SortFunc(all, func(a, b learning.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	ok(t, s.SetVectors(ctx, "", all))
	find := func(v learning.Vector, limit int) []int64 {
		return idsOf(must(s.FindLearnings(ctx, learning.Query{Text: "OOMKilled", Vector: v, Limit: limit, Now: now}))(t))
	}
	for _, n := range []int{0, 254, 255, 256, 599} {
		same(t, "itself", find(all[n].Vector, 1), []int64{int64(n + 1)})
	}
	must(s.EditLearning(ctx, "", 1, audit.Act{At: now}, func(l learning.Learning) (learning.Learning, error) {
		l.Text = "edited"
		return l, nil
	}))(t)
	ok(t, s.DeleteLearning(ctx, "", 256, audit.Act{At: now}))
	same(t, "edited", find(all[0].Vector, 1), []int64(nil))
	same(t, "deleted", find(all[255].Vector, 1), []int64(nil))
	// Another model takes over in one block. The others of that block need new vectors.
	other := learning.Candidate{Learning: all[599].Learning, Vector: vector("n")}
	ok(t, s.SetVectors(ctx, "", []learning.Candidate{other}))
	same(t, "other model", find(other.Vector, 1), []int64{600})
	same(t, "other block", find(all[254].Vector, 1), []int64{255})
	same(t, "same block", find(all[598].Vector, 1), []int64(nil))
	if n := len(must(s.Unembedded(ctx, "", "m", 1000))(t)); n != 600-512+1+1 { // the last block has 89 rows: 512 to 600
		t.Errorf("%d learnings without a vector", n)
	}
	must(s.WithdrawLearnings(ctx, "", "a", learning.Withdrawn{At: now}, audit.Act{At: now}))(t)
	same(t, "withdrawn", find(all[254].Vector, 1), []int64(nil))
}

// testLearningsApart does things at random in two projects, and checks that none sees or changes anything of the other.
func testLearningsApart(t *testing.T, open opener) {
	s, ctx := learnings(open), t.Context()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		names := []string{fmt.Sprint("p", run), fmt.Sprint("q", run)}
		now, act := time.Now(), audit.Act{At: time.Now(), Who: "ana"}
		for n := range rapid.IntRange(1, 12).Draw(t, "steps") {
			mine := rapid.SampledFrom(names).Draw(t, "project")
			id := rapid.Int64Range(1, 4).Draw(t, "id")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				taught := learning.Taught{Investigation: fmt.Sprint(mine, "/", n), At: now, Confirmed: []int64{id},
					New: learnable("shared words of "+mine, fmt.Sprint("shared number ", n, " of ", mine))}
				if _, err := s.Learn(ctx, mine, taught); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := s.DeleteLearning(ctx, mine, id, act); err != nil && !errors.Is(err, record.ErrNotFound) {
					t.Fatal(err)
				}
			case 3:
				of := fmt.Sprint(mine, "/", rapid.IntRange(0, n).Draw(t, "of"))
				if _, err := s.WithdrawLearnings(ctx, mine, of, learning.Withdrawn{At: now}, act); err != nil {
					t.Fatal(err)
				}
			case 4:
				if err := s.NoteReads(ctx, mine, []learning.Read{{Learning: id, Investigation: mine, How: learning.Shown, At: now}}); err != nil {
					t.Fatal(err)
				}
			case 5:
				edit := func(l learning.Learning) (learning.Learning, error) { l.Text = "edited by " + mine; return l, nil }
				if _, err := s.EditLearning(ctx, mine, id, act, edit); err != nil && !errors.Is(err, record.ErrNotFound) {
					t.Fatal(err)
				}
			}
		}
		for n, mine := range names {
			checkApart(t, s, mine, names[1-n])
		}
	})
}

func checkApart(t *rapid.T, s *store.Store, mine, other string) {
	ctx := t.Context()
	all, err := s.Learnings(ctx, learning.Filter{Project: mine, Withdrawn: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.FindLearnings(ctx, learning.Query{Project: mine, Text: "shared words number edited " + mine + " " + other, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, l := range all {
		if !strings.HasSuffix(l.Text, mine) || l.Project != mine || !strings.HasPrefix(l.Investigation, mine+"/") {
			t.Errorf("%s sees %+v", mine, l)
		}
		if l.Withdrawn == nil {
			used++
			if !slices.Contains(idsOf(found), l.ID) {
				t.Errorf("%s does not find its learning %+v", mine, l)
			}
		}
	}
	if len(found) != used {
		t.Errorf("%s finds %d learnings, and has %d in use", mine, len(found), used)
	}
	reads, _, err := s.LearningReads(ctx, learning.ReadFilter{Project: mine, Learnings: []int64{1, 2, 3, 4}})
	for _, r := range reads {
		if r.Investigation != mine {
			t.Errorf("%s sees %+v", mine, r)
		}
	}
	of, _, wrong := s.LearningReads(ctx, learning.ReadFilter{Project: mine, Investigation: other})
	if err != nil || wrong != nil || len(of) > 0 {
		t.Errorf("%s sees what %s read: %+v (%v, %v)", mine, other, of, err, wrong)
	}
	taught, err := s.Learnings(ctx, learning.Filter{Project: mine, Investigation: other + "/0", Withdrawn: true})
	if err != nil || len(taught) > 0 {
		t.Errorf("%s sees what %s learned: %+v (%v)", mine, other, taught, err)
	}
}

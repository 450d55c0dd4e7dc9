package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func testBlobs(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	tests := map[string]struct {
		data []byte
		hash string // empty means not checked
	}{
		"nil":    {nil, "e3b0c44298fc1c149afbf4c8996fb924"},
		"empty":  {[]byte{}, "e3b0c44298fc1c149afbf4c8996fb924"},
		"abc":    {[]byte("abc"), "ba7816bf8f01cfea414140de5dae2223"},
		"binary": {[]byte{0, 255, 0, 254}, ""},
		"large":  {bytes.Repeat([]byte("0123456789abcdef"), 200_000), ""},
	}
	for name, test := range tests {
		for range 2 {
			hash := must(s.PutBlob(ctx, test.data))(t)
			if len(hash) != 32 || (test.hash != "" && hash != test.hash) {
				t.Errorf("%s: hash %q, want %q", name, hash, test.hash)
			}
			if got := must(s.Blob(ctx, hash))(t); !bytes.Equal(got, test.data) {
				t.Errorf("%s: %d bytes come back, want %d", name, len(got), len(test.data))
			}
		}
	}
	if _, err := s.Blob(ctx, "absent"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a blob that is not there: %v", err)
	}
}

func testCatalogues(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	spec := tool.Spec{Name: "k8s.get", Schema: json.RawMessage(`{"type":"object"}`), Risk: agent.RiskReadOnly}
	k8s, down := tool.Catalogue{Server: "k8s", Tools: []tool.Spec{spec}}, tool.Catalogue{Server: "aws", Error: "refused"}
	other := scope
	other.Execution = "triage/other"

	same(t, "an offer of a server that was never asked", must(s.LastOffer(ctx, "k8s"))(t), tool.Catalogue{})
	ok(t, s.SaveCatalogue(ctx, scope, k8s))
	ok(t, s.SaveCatalogue(ctx, other, k8s))
	ok(t, s.SaveCatalogue(ctx, scope, down))
	same(t, "catalogues", catalogues(t, s, scope), []tool.Catalogue{down, k8s})

	down.Error, down.Tools = "", []tool.Spec{{Name: "aws.s3"}}
	ok(t, s.SaveCatalogue(ctx, scope, down))
	same(t, "catalogues, one saved again", catalogues(t, s, scope), []tool.Catalogue{down, k8s})
	same(t, "catalogues of another", catalogues(t, s, other), []tool.Catalogue{k8s})

	newer := tool.Catalogue{Server: "k8s", Tools: []tool.Spec{{Name: "k8s.delete"}}}
	ok(t, s.SaveCatalogue(ctx, other, newer))
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "k8s", Error: "refused"}))
	same(t, "the last offer", must(s.LastOffer(ctx, "k8s"))(t), newer)

	// A partial list replaces the tools that it has, and keeps the others.
	deletes := tool.Spec{Name: "k8s.delete", Description: "Deletes at once."}
	part := tool.Catalogue{Server: "k8s", Tools: []tool.Spec{spec}, Partial: "a page failed", Words: "EOF", Changed: []string{"x"}}
	ok(t, s.SaveCatalogue(ctx, scope, part))
	both := tool.Catalogue{Server: "k8s", Tools: []tool.Spec{spec, newer.Tools[0]}}
	same(t, "the last offer, then a part", must(s.LastOffer(ctx, "k8s"))(t), both)
	part.Tools = []tool.Spec{deletes}
	ok(t, s.SaveCatalogue(ctx, scope, part))
	both.Tools = []tool.Spec{deletes, spec}
	same(t, "the last offer, then another part", must(s.LastOffer(ctx, "k8s"))(t), both)
	same(t, "the list of the execution", catalogues(t, s, scope)[1], part)
	part.Server = "new"
	ok(t, s.SaveCatalogue(ctx, scope, part))
	same(t, "a part alone", must(s.LastOffer(ctx, "new"))(t), part)
}

func catalogues(t *testing.T, s Store, scope transcript.Scope) (out []tool.Catalogue) {
	t.Helper()
	for _, hash := range must(s.Catalogues(t.Context(), scope))(t) {
		var catalogue tool.Catalogue
		ok(t, json.Unmarshal(must(s.Blob(t.Context(), hash))(t), &catalogue))
		out = append(out, catalogue)
	}
	return out
}

// A store has the same identity for every process that opens it.
func testIdentity(t *testing.T, open opener) {
	first, second := open(), open()
	ok(t, first.Close())
	if third := open(); len(first.ID()) < 20 || second.ID() != first.ID() || third.ID() != first.ID() {
		t.Errorf("identities: %q, %q, %q", first.ID(), second.ID(), third.ID())
	}
}

func testProgramTools(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	same(t, "none", must(s.ProgramTools(ctx))(t), []tool.Spec(nil))
	for _, name := range []string{"old", "open_ticket"} {
		ok(t, s.SaveProgramTools(ctx, []tool.Spec{{Name: name, Risk: agent.RiskWrite, Schema: json.RawMessage(`{"a":"<b>"}`)}}))
	}
	same(t, "the last ones", must(s.ProgramTools(ctx))(t),
		[]tool.Spec{{Name: "open_ticket", Risk: agent.RiskWrite, Schema: json.RawMessage(`{"a":"<b>"}`)}})
}

func testReopen(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	steps(t, s, "r1", key(1, 0), key(2, 0))
	steps(t, s, "r2", key(2, 0))
	log := gapless(t, s, scope.Investigation)
	hash := must(s.PutBlob(ctx, []byte("kept")))(t)
	same(t, "beginnings", must(s.Beginnings(ctx, []string{hash, "none"}, 3))(t), map[string][]byte{hash: []byte("kep")})
	ok(t, s.Close())

	s = open()
	same(t, "log", gapless(t, s, scope.Investigation), log)
	same(t, "blob", must(s.Blob(ctx, hash))(t), []byte("kept"))
	if _, err := s.Append(ctx, step("r1", row("r1", key(3, 0)))); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("append by the old run: %v", err)
	}
	same(t, "next step", briefs(mustAppend(t, s, step("r2", row("r2", key(3, 0))))), []brief{{4, key(3, 0), "r2", false}})
}

// A store belongs to the first namespace that joins it, unless another one adopts it.
func testNamespace(t *testing.T, open opener) {
	first, second, ctx := open(), open(), t.Context()
	ok(t, first.Belongs(ctx, "1", "prod")) // it belongs to no namespace, and still does afterwards
	ok(t, first.Belongs(ctx, "2", "prod"))
	ok(t, first.Join(ctx, "1", "prod", false))
	ok(t, second.Join(ctx, "1", "renamed", false))
	err := second.Join(ctx, "2", "prod", false)
	if err == nil || !strings.Contains(err.Error(), `belongs to namespace "prod" (id 1), but this program uses namespace "prod" (id 2)`) {
		t.Errorf("another namespace: %v", err)
	}
	ok(t, second.Join(ctx, "2", "prod", true))
	ok(t, first.Join(ctx, "2", "prod", false))
	ok(t, first.Belongs(ctx, "2", "renamed"))
	if err := first.Belongs(ctx, "1", "prod"); !errors.Is(err, store.ErrOtherNamespace) {
		t.Errorf("the namespace that it was: %v", err)
	}
	if first.Join(ctx, "1", "prod", false) == nil {
		t.Error("the old namespace came back")
	}
}

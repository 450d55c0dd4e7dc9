package storetest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// found returns the numbers of the archival entries that a query matches.
func found(t *testing.T, s Store, by, query string, page int) (ids []int64) {
	t.Helper()
	ok(t, s.Remember(t.Context(), by, func(tx memory.Tx) error {
		ids = nil
		entries, err := tx.SearchArchival(t.Context(), query, page)
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return err
	}))
	return ids
}

func testSearch(t *testing.T, open opener) {
	s := open()
	for _, content := range []string{
		/* 1 */ "payments/api-server.go:42 leaked db-connections",
		/* 2 */ "Ada's favourite: Crème brûlée, NOT cake",
		/* 3 */ "数据库连接池",
		/* 4 */ "host db01.example.com at 10.0.0.7, error E_POOL_50",
		/* 5 */ "🙂 it's fine",
		/* 6 */ "restarted after stopping it",
		/* 7 */ strings.Repeat("word ", 40_000) + "behind",
	} {
		inMemory(t, s, "bot", insert(content))
	}
	for query, want := range map[string][]int64{
		"leak":               {1},
		"API server":         {1},
		"connection":         {1},
		"CRÈME":              {2},
		"brulee":             nil, // an accent is part of a letter
		"not":                {2}, // the only word, so it counts although it is common
		"数据":                 {3},
		"example":            {4},
		"10.0.0.7":           {4},
		"pool nothing_else":  {4},
		"restarts":           {6},
		"stopped":            {6},
		"words":              {7},
		"fine -nothing":      {5},
		"the of and":         nil,
		"🙂":                  nil,
		"rest":               nil, // not a part of a word
		"leak OR restarting": {6, 1},
	} {
		got := found(t, s, "bot", query, 0)
		if query == "leak OR restarting" {
			same(t, query, len(got), len(want))
			continue
		}
		same(t, query, got, want)
	}
}

// Any query is treated as text: it never fails, and it never matches an entry that has none of its words.
func testAnyQuery(t *testing.T, open opener) {
	s := open()
	const said = `say "NEAR" * AND (x) 'quoted' \ done`
	inMemory(t, s, "bot", insert(said), insert("unlike"))
	said1 := found(t, s, "bot", said, 0)
	same(t, "itself", said1, []int64{1})
	for _, query := range []string{
		``, ` `, `"`, `""`, `'`, `*`, `a*`, `NEAR(`, `NEAR(a b, 2`, `AND`, `OR OR`, `NOT x`, `-x`, `^x`, `words:x`, `rowid:1`, `{a b}:c`,
		`x + y`, `(`, `))`, `\`, `\'`, `'; DROP TABLE archival; --`, `$1`, `%`, `a & b | !c`, `a <-> b`, `x:*`, "\x00", "a\x00b", "\xff\xfe",
		"\u200b", "e\u0301", "🙂🙃", strings.Repeat("(", 5000), strings.Repeat("a ", 5000), strings.Repeat("y", 100_000),
	} {
		if got := found(t, s, "bot", query, 0); len(got) > 1 {
			t.Errorf("%.40q finds %v", query, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		query := rapid.OneOf(rapid.String(), rapid.StringMatching(`["'*()&|!:\\^+{}<>a-z0-9 -]*`)).Draw(rt, "query")
		page := rapid.IntRange(0, 3).Draw(rt, "page")
		err := s.Remember(t.Context(), "bot", func(tx memory.Tx) error {
			entries, err := tx.SearchArchival(t.Context(), query, page)
			if len(entries) > 0 && len(memory.Query(query)) == 0 {
				rt.Errorf("%q finds %v", query, entries)
			}
			if _, more := tx.SearchConversation(t.Context(), query, page); more != nil {
				rt.Errorf("conversations: %v", more)
			}
			return err
		})
		if err != nil {
			rt.Fatalf("%q: %v", query, err)
		}
	})
}

// Entries with more of the words come first, then shorter ones, then newer ones. Pages do not overlap and leave nothing out.
func testRanks(t *testing.T, open opener) {
	s := open()
	for n := range 23 {
		inMemory(t, s, "bot", insert(fmt.Sprintf("apple number %d", n)))
	}
	inMemory(t, s, "bot",
		insert("apple and banana and much else besides, in a text that is longer than all of the others are here"), // 24
		insert("apple banana"),                                                                              // 25
		insert("cherry"), insert("a cherry in a text that is longer than the other one is, by many a word")) // 26, 27
	for n := range 30 {
		inMemory(t, s, "other", insert(fmt.Sprintf("cherry %d", n)))
	}
	first := found(t, s, "bot", "banana apple", 0)
	same(t, "both words", first[:2], []int64{25, 24})
	same(t, "then the newest", first[2:], []int64{23, 22, 21, 20, 19, 18, 17, 16})
	same(t, "second page", found(t, s, "bot", "banana apple", 1), []int64{15, 14, 13, 12, 11, 10, 9, 8, 7, 6})
	same(t, "third page", found(t, s, "bot", "banana apple", 2), []int64{5, 4, 3, 2, 1})
	same(t, "fourth page", found(t, s, "bot", "banana apple", 3), []int64(nil))
	same(t, "no page", found(t, s, "bot", "banana apple", -1), []int64(nil))
	same(t, "shorter first", found(t, s, "bot", "cherries", 0), []int64{26, 27})
}

// said appends a user message and a reply that an agent may recall.
func said(t *testing.T, s Store, by, text string) {
	t.Helper()
	mine := step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{}))
	mine.Execution, mine.Recall = "stage/"+by, by
	mine.Rows[0].Text, mine.Rows[1].Text = "Q: "+text, "A: "+text
	mustAppend(t, s, mine)
}

func testRecall(t *testing.T, open opener) {
	s := open()
	said(t, s, "bot", "the disk")
	silent := step("r1", row("r1", key(1, 0)))
	silent.Rows[0].Text = "a disk that nobody recalls"
	mustAppend(t, s, silent)
	kinds := step("r1")
	kinds.Investigation, kinds.Recall = "inv/conversation", "bot"
	for i, kind := range []transcript.Kind{
		transcript.KindSystem, transcript.KindUser, transcript.KindMemory, transcript.KindNotice, transcript.KindReply, transcript.KindCall,
		transcript.KindResult,
	} {
		kinds.Rows = append(kinds.Rows, transcript.Row{Key: key(2, i), Kind: kind, Body: transcript.Body{Text: "pool of " + string(kind)}})
	}
	kinds.Rows = append(kinds.Rows, transcript.Row{Key: key(2, 9), Kind: transcript.KindReply})
	mustAppend(t, s, kinds)
	mustAppend(t, s, kinds) // a retry
	must(perform(t.Context(), s, batch("bot", "r1", 3, 1), insert("a pool, archived")))(t)

	same(t, "results", inMemory(t, s, "bot", recallOf("disks"), recallOf("pool"), recallOf("shard")), []string{
		"Found 2 results (page 0):\n[Assistant]: A: the disk\n---\n[User]: Q: the disk",
		"Found 2 results (page 0):\n[Assistant]: pool of reply\n---\n[User]: pool of user",
		"No matching conversations found",
	})
}

func testRecallSuperseded(t *testing.T, open opener) {
	s := open()
	say := func(run string, iteration int, text string) {
		mine := step(run, row(run, key(iteration, 0)))
		mine.Recall, mine.Rows[0].Text = "bot", text
		mustAppend(t, s, mine)
	}
	say("r1", 1, "apple one")
	say("r1", 2, "apple two")
	say("r1", 3, "apple three")
	say("r2", 2, "apple four")
	same(t, "results", inMemory(t, s, "bot", recallOf("apple")),
		[]string{"Found 2 results (page 0):\n[User]: apple four\n---\n[User]: apple one"})
	must(s.Lookup(t.Context(), scope, key(1, 0), writer("r3")))(t)
	same(t, "results after another reset", inMemory(t, s, "bot", recallOf("apple")), []string{"No matching conversations found"})
}

package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

// TestFacts checks which facts of a claim are missing in the cited evidence; empty means none.
func TestFacts(t *testing.T) {
	t.Parallel()
	const pods = `NAME READY STATUS RESTARTS AGE
checkout-7f9c4d5b8-x2x7k 0/1 OOMKilled 7 (3m12s ago) 2h15m
checkout-db-0 1/1 Running 0 41d`
	const slow = `{"service":"payment-api","count":1312,"p99_ms":2450.7,"error_rate":0.0312,"since":"2026-11-22T14:02:05.123Z","window":"15m"}`
	const kernel = `Nov 22 14:02:05 node-7 kernel: Memory cgroup out of memory: Killed process 4211 (java) total-vm:3145728kB, limit 512Mi`
	const cet = `2026-11-22 16:02:05+02:00 [ERROR] dial tcp 10.0.0.7:5432: connect: "connection refused" ` +
		`/var/lib/app/data.db v2.3.1 took 1,204 ms`
	const loki = `{"values":[["1795356125000000000","level=error msg=\"upstream timed out\" upstream=http://cart:8080/v1/items"]]}`
	for _, test := range []struct{ evidence, claim, missing string }{
		// Numbers.
		{pods, "It restarted 7 times.", ""},
		{pods, "It restarted seven times.", ""},
		{pods, "It restarted 8 times.", "8 times"},
		{pods, "It restarted eight times.", "eight times"},
		{pods, "It restarted twice.", "twice"},
		{pods, "It restarted 3 times.", "3 times"}, // 3m12s is a time
		{pods, "There are 5 pods.", "5"},           // part of a name
		{pods, "0 of 1 pods is ready.", ""},
		{pods, "0/1 ready.", ""},
		{pods, "It was last restarted 192 seconds ago.", ""},
		{pods, "It is 135 minutes old.", ""},
		{pods, "It is 41 days old, so is 984 hours.", ""},
		{pods, "It took 41 minutes.", "41 minutes"},
		{slow, "1,312 requests failed.", ""},
		{slow, "1312 requests failed.", ""},
		{slow, "1'312 requests failed.", ""},
		{slow, "1\u202f312 requests failed.", ""},
		{slow, "1.3k requests failed.", ""},
		{slow, "1.4k requests failed.", "1.4k"},
		{slow, "1,313 requests failed.", "1,313"},
		{slow, "131 requests failed.", "131"},
		{slow, "13,12 requests failed.", "13,12"},
		{slow, "The p99 is 2450.7 ms.", "p99"}, // a separate name
		{slow, "The latency is 2450.7 ms.", ""},
		{slow, "The latency is 2.45 s.", ""},
		{slow, "The latency is about 2.5 s.", ""},
		{slow, "The latency is 2.4 s.", "2.4 s"},
		{slow, "The latency is 2450.7 s.", "2450.7 s"},
		{slow, "The latency is 2 s.", "2 s"}, // one digit is not rounded
		{slow, "3.12 % of them failed.", ""},
		{slow, "3.1% of them failed.", ""},
		{slow, "3,1 % of them failed.", ""},
		{slow, "31% of them failed.", "31%"},
		{slow, "In 15 minutes.", ""},
		{slow, "In 900 s.", ""},
		{slow, "In 15 hours.", "15 hours"},
		{slow, "15 requests.", "15"},
		{slow, "-1312 requests.", "-1312"},
		{slow, "１３１２ requests.", ""},
		{slow, "１３１３ requests.", "1313"},
		{slow, "13\u200b13 requests.", "1313"},
		{kernel, "It used 3 GiB of its 512 MiB.", ""},
		{kernel, "It used 3145728 kB.", ""},
		{kernel, "It used 3.0 GB, the limit is 512 MB.", ""},
		{kernel, "It used 4 GiB.", "4 GiB"},
		{kernel, "The limit is 512 GiB.", "512 GiB"},
		{kernel, "512 requests.", "512"},
		{kernel, "Process 4211 was killed.", ""},
		{kernel, "7 processes were killed.", "7"},
		{cet, "It took 1,204 ms, which is 1.2 s.", ""},
		{cet, "It took 204 ms.", "204 ms"},
		{cet, "It took 1.204 ms.", "1.204 ms"},
		{"latency 2 to 5 ms", "Between 2 and 5 ms.", ""},
		{"latency 2-5 ms", "It is 2–5 ms.", ""},
		{"503 x 12", "It answered twelve 503s.", ""},
		{`{"counts":[100,200]}`, "100200 of them.", "100200"},
		{`{"counts":[100,200]}`, "100 and 200 of them.", ""},
		{"1 of the replicas", "One of the replicas is gone.", ""},
		{"3 replicas", "One replica is gone.", "One"},
		// Times.
		{slow, "Since 14:02.", ""},
		{slow, "Since 14:02:05 UTC.", ""},
		{slow, "Since 2:02 PM.", ""},
		{slow, "Since 15:02 CET.", ""},
		{slow, "Since 2026-11-22 14:02 UTC.", ""},
		{slow, "Since 22 November 2026, 14:02.", ""},
		{slow, "Since Nov 22, 2026.", ""},
		{slow, "Since 14:02 on 22 Nov.", ""},
		{slow, "Since 14:03.", "14:03"},
		{slow, "Since 14:02:06.", "14:02:06"},
		{slow, "Since 14:02 CET.", "14:02 CET"},
		{slow, "Since 2:02.", "2:02"},
		{slow, "Since 2026-11-21 14:02.", "2026-11-21 14:02"},
		{slow, "Since 22 October.", "22 October"},
		{slow, "Since 22 November 2025.", "22 November 2025"},
		{cet, "At 14:02 UTC.", ""},
		{cet, "At 16:02.", ""},
		{cet, "At 14:02.", ""},
		{cet, "At 16:02 UTC.", "16:02 UTC"},
		{cet, "At 16:02 CEST.", ""},
		{cet, "At 2026-11-22T14:02:05Z.", ""},
		{cet, "At 9:02 am EST.", ""},
		{kernel, "At 14:02:05.", ""},
		{kernel, "On Nov 22 at 14:02.", ""},
		{kernel, "At 14:02 UTC.", "14:02 UTC"}, // the evidence has no zone
		{loki, "At 14:02 UTC.", ""},
		{loki, "At 2026-11-22 19:22:05 UTC.", "2026-11-22 19:22:05 UTC"},
		{"from 14:02 to 14:09 UTC", "Between 14:02 and 14:09 UTC.", ""},
		{"from 14:02 to 14:09 UTC", "Between 15:02 and 15:09 CET.", ""},
		{`10.1.2.3 - - [22/Nov/2026:14:02:05 +0000] "GET /v1/items HTTP/1.1" 503 12`,
			"GET /v1/items answered 503 at 14:02:05 UTC on 2026-11-22.", ""},
		// Names.
		{pods, "checkout-7f9c4d5b8-x2x7k was OOMKilled.", ""},
		{pods, "The pod `checkout-7f9c4d5b8-x2x7k` was **OOMKilled**.", ""},
		{pods, "`checkout` was OOMKilled.", ""},
		{pods, "checkout-7f9c4d5b8-x2x8k was OOMKilled.", "checkout-7f9c4d5b8-x2x8k"},
		{pods, "checkout-7f9c4d5b8 was OOMKilled.", ""},
		{pods, "checkout-7f9c4d5 was OOMKilled.", "checkout-7f9c4d5"},
		{pods, "payment-gateway was OOMKilled.", "payment-gateway"},
		{pods, "checkout-db was OOMKilled.", "checkout-db"}, // it has an ordinal, so it is another object
		{pods, "A long-running, memory-related out-of-memory crash and/or a rollback.", ""},
		{pods, "It is in CrashLoopBackOff.", "CrashLoopBackOff"},
		{pods, "The payment service fails.", "payment"},
		{slow, "The payment service fails.", ""}, // payment-api is another name, see below
		{slow, "payment-api is slow.", ""},
		{slow, "payment-api-canary is slow.", "payment-api-canary"},
		{slow, "payment is slow.", "payment"},
		{cet, "It cannot reach 10.0.0.7:5432.", ""},
		{cet, "It cannot reach 10.0.0.7.", ""},
		{cet, "It cannot reach 10.0.0.70.", "10.0.0.70"},
		{cet, "It cannot reach 10.0.0.7:54.", "10.0.0.7:54"},
		{cet, "It cannot write /var/lib/app/data.db of v2.3.1.", ""},
		{cet, "It cannot write /var/lib/app.", "/var/lib/app"},
		{cet, "Since version 2.3.", "2.3"},
		{cet, "Since version v2.3.", "v2.3"},
		{cet, "Since v2.3.2.", "v2.3.2"},
		{cet, `It says "connection refused".`, ""},
		{cet, `It says “Connection refused”.`, ""},
		{cet, `It says "connection reset".`, "connection reset"},
		{cet, `It says "dial tcp … connection refused".`, ""},
		{cet, `It says "connection refused … dial tcp".`, "connection refused … dial tcp"},
		{kernel, "node-7 killed it.", ""},
		{kernel, "node-70 killed it.", "node-70"},
		{loki, `It says "upstream timed out".`, ""},
		{loki, "http://cart:8080/v1/items timed out.", ""},
		{loki, "http://cart:8081/v1/items timed out.", "http://cart:8081/v1/items"},
		{"host db-1.prod.example.com is up", "db-1 is up.", ""},
		{"host db-1.prod.example.com is up", "db-10 is up.", "db-10"},
		// Claims without facts that code can look for.
		{pods, "The pods are crash looping.", ""},
	} {
		known := map[string]bool{"payment": true}
		if test.claim == "The payment service fails." && test.evidence == slow {
			test.missing = "payment"
		}
		got := claimed(test.claim, known).missing([]facts{stated(test.evidence)}, "")
		if diff := cmp.Diff(test.missing, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s\nin %.60s…\n%s", test.claim, test.evidence, diff)
		}
	}
}

func of(texts ...string) Evidence {
	e := Evidence{names: map[string]bool{"checkout": true, "payment": true}}
	for n, text := range texts {
		e.Items = append(e.Items, Item{N: n + 1, Citation: toolresult.Citation{Content: text}, text: text})
	}
	return e
}

// TestCheck checks the citations of a report, the text that each is for, and the marks.
func TestCheck(t *testing.T) {
	t.Parallel()
	e := of("checkout restarted 7 times", "p99 latency 250 ms since 14:02Z", "payment-api: 312 errors")
	e.Items = append(e.Items, Item{N: 4, Citation: toolresult.Citation{Content: "x"}, Problem: problemNowhere})
	for name, test := range map[string]struct {
		report string
		want   string // with ✗ for a mark, and the missing facts
		claims []string
	}{
		"verified":         {"checkout restarted 7 times [1].", "checkout restarted 7 times [1].", []string{"verified 1"}},
		"not verified":     {"checkout restarted 8 times [1].", "checkout restarted 8 times [1]✗{8 times}.", []string{"unverified 1"}},
		"another subject":  {"payment restarted 7 times [1].", "payment restarted 7 times [1]✗{payment}.", []string{"unverified 1"}},
		"nothing to check": {"It crashes [1].", "It crashes [1].", []string{"unchecked 1"}},
		"no such evidence": {"It crashes [9].", "It crashes [9]✗{evidence 9 does not exist}.", []string{"unverified 9"}},
		"evidence 0":       {"It crashes [0].", "It crashes [0]✗{evidence 0 does not exist}.", []string{"unverified 0"}},
		"it proves nothing": {
			"It crashes [4].",
			"It crashes [4]✗{evidence 4 proves nothing: " + problemNowhere + "}.", []string{"unverified 4"},
		},
		"two together": {
			"checkout restarted 7 times, p99 250 ms [1][2].",
			"checkout restarted 7 times, p99 250 ms [1][2].", []string{"verified 1 2"},
		},
		"in one mark": {
			"checkout restarted 7 times, p99 250 ms [1, 2].",
			"checkout restarted 7 times, p99 250 ms [1, 2].", []string{"verified 1 2"},
		},
		"a range": {"312 errors, 7 restarts [1-3].", "312 errors, 7 restarts [1-3].", []string{"verified 1 2 3"}},
		"one for each": {
			"7 restarts [1] and 312 errors [3].",
			"7 restarts [1] and 312 errors [3].", []string{"verified 1", "verified 3"},
		},
		"mixed up": {
			"312 restarts [1] and 7 errors [3].",
			"312 restarts [1]✗{312} and 7 errors [3]✗{7}.", []string{"unverified 1", "unverified 3"},
		},
		"after the full stop": {
			"It restarted 7 times. [1] Then 312 errors. [3]",
			"It restarted 7 times. [1] Then 312 errors. [3]", []string{"verified 1", "verified 3"},
		},
		"at the beginning": {
			"[1] says 7 restarts, [3] 312 errors.",
			"[1] says 7 restarts, [3] 312 errors.", []string{"verified 1", "verified 3"},
		},
		"what comes after": {
			"As [1] says, it restarted 8 times.",
			"As [1]✗{8 times} says, it restarted 8 times.", []string{"unverified 1"},
		},
		"an index": {
			"spec.containers[0].image of args[1][2] and f(x)[1]",
			"spec.containers[0].image of args[1][2] and f(x)[1]", nil,
		},
		"of several indexes": {
			"`x` restarted 8 times [1][2], a[3].",
			"`x` restarted 8 times [1][2]✗{x; 8 times; 3}, a[3].", []string{"unverified 1 2"},
		},
		"of other brackets": {"It restarted 8 times【1】.", "It restarted 8 times【1】✗{8 times}.", []string{"unverified 1"}},
		"a footnote":        {"It restarted 8 times[^1].", "It restarted 8 times[^1]✗{8 times}.", []string{"unverified 1"}},
		"a link":            {"It restarted 8 times [1](#e1).", "It restarted 8 times [1](#e1)✗{8 times}.", []string{"unverified 1"}},
		"code":              {"```\nx[1] = 8\n```\nand `y[1]`", "```\nx[1] = 8\n```\nand `y[1]`", nil},
		"a definition":      {"[1]: https://example.com/8", "[1]: https://example.com/8", nil},
		"a line of a list": {
			"- It restarted 7 times [1]\n- 8 errors\n- 312 errors [3]",
			"- It restarted 7 times [1]\n- 8 errors\n- 312 errors [3]", []string{"verified 1", "verified 3"},
		},
		"a numbered list": {
			"1. It restarted 7 times [1]\n2. 312 errors [3]",
			"1. It restarted 7 times [1]\n2. 312 errors [3]", []string{"verified 1", "verified 3"},
		},
		"a row of a table": {
			"| checkout | 7 | [1] |\n| checkout | 8 | [1] |",
			"| checkout | 7 | [1] |\n| checkout | 8 | [1]✗{8} |", []string{"verified 1", "unverified 1"},
		},
		"over two lines": {"It restarted 8\ntimes [1].", "It restarted 8\ntimes [1]✗{8 times}.", []string{"unverified 1"}},
		"an abbreviation": {
			"It restarted approx. 8 times, e.g. Tuesday [1].",
			"It restarted approx. 8 times, e.g. Tuesday [1]✗{8 times}.", []string{"unverified 1"},
		},
		"other sentences": {
			"It failed 8 times. It restarted 7 times [1].",
			"It failed 8 times. It restarted 7 times [1].", []string{"verified 1"},
		},
		"of a heading": {
			"## It restarted 8 times [1]\ntext",
			"## It restarted 8 times [1]✗{8 times}\ntext", []string{"unverified 1"},
		},
		"a mark that is quoted": {
			"The log says `done [1]` 8 times [1].",
			"The log says `done [1]` 8 times [1]✗{done [1]; 8 times}.", []string{"unverified 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := e
			own.Items = slices.Clone(e.Items)
			got := own.Check(test.report)
			for _, c := range own.Claims {
				if c.Verdict == Unverified {
					got = strings.Replace(got, mark(c), "✗{"+strings.Join(c.Missing, "; ")+"}", 1)
				}
			}
			var claims []string
			for _, c := range own.Claims {
				claims = append(claims, string(c.Verdict)+" "+strings.Trim(fmt.Sprint(c.Cites), "[]"))
			}
			if diff := cmp.Diff(test.want, got) + cmp.Diff(test.claims, claims); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// A transcript can be read from its end, and for one agent or kind only.
func TestTranscriptFromItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("long", "payments")
	for n := 2; n <= 7; n++ {
		w.say(id, n, fmt.Sprint("turn ", n))
	}
	var turns []string
	for before := int64(1 << 53); before > 0; {
		part := read[system.Entries](w, "viewer", "GET", fmt.Sprintf("/api/v1/investigations/long/transcript?limit=3&before=%d", before), nil)
		for n := len(part.Entries) - 1; n >= 0; n-- {
			turns = append(turns, part.Entries[n].Text)
		}
		before = part.Previous
	}
	if got := strings.Join(turns, ", "); got != "turn 7, turn 6, turn 5, turn 4, turn 3, turn 2, found it" {
		t.Errorf("from its end: %s", got)
	}
	for query, want := range map[string]int{"execution=dig/Memo": 7, "execution=dig/None": 0, "kind=reply&kind=try": 7, "kind=try": 0} {
		if got := read[system.Entries](w, "viewer", "GET", "/api/v1/investigations/long/transcript?"+query, nil); len(got.Entries) != want {
			t.Errorf("%s: %d entries", query, len(got.Entries))
		}
	}
}

// A truncated text can be read in parts. No part ends inside a character.
func TestWholeText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("large", "payments")
	whole := strings.Repeat("größer, ", 40)
	seq := w.result(id, transcript.Body{Text: whole[:8], Result: transcript.Result{Blob: w.blob([]byte(whole)), Size: len(whole)}})
	var got string
	for next, more := 0, true; more; more = next > 0 {
		part := read[system.TextPart](w, "viewer", "GET",
			fmt.Sprintf("/api/v1/investigations/large/transcript/%d/whole?limit=4&offset=%d", seq, next),
			nil)
		got, next = got+part.Text, part.Next
	}
	if got != whole {
		t.Errorf("read %q", got)
	}
	if got := read[system.TextPart](w, "viewer", "GET", "/api/v1/investigations/large/transcript/1/whole", nil); got.Text != "found it" {
		t.Errorf("of a text that is whole: %+v", got)
	}
}

// An image is served with its real type, whatever its tool calls it. This operation serves neither other files nor images that are too
// large to be drawn.
func TestImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("seen", "payments")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	part := func(kind string, data []byte) string {
		text, err := json.Marshal(tool.Artifact{MIMEType: kind, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		return w.blob(text)
	}
	vast := append([]byte{}, picture.Bytes()...)
	binary.BigEndian.PutUint32(vast[16:], 60_000) // its width and height
	binary.BigEndian.PutUint32(vast[20:], 60_000)
	binary.BigEndian.PutUint32(vast[29:], crc32.ChecksumIEEE(vast[12:29]))
	page := []byte("<html><script>alert(1)</script>")
	drawn := []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
	seq := w.result(id, transcript.Body{Result: transcript.Result{Artifacts: []string{
		part("text/html", picture.Bytes()), part("image/png", page), part("image/svg+xml", drawn), part("image/png", vast),
	}}})
	refused := http.StatusUnprocessableEntity
	for n, status := range []int{http.StatusOK, refused, refused, refused, http.StatusNotFound} {
		got := w.call("viewer", "GET", fmt.Sprintf("/api/v1/investigations/seen/transcript/%d/images/%d", seq, n+1), nil)
		if got.status != status {
			t.Errorf("image %d: %d %s", n+1, got.status, got.body)
		}
		if h := got.header; got.status == http.StatusOK && (got.body != picture.String() || h.Get("Content-Type") != "image/png" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox") {
			t.Errorf("headers %v", h)
		}
	}
}

// result appends the result of a call and returns its number.
func (w *world) result(id string, body transcript.Body) int64 {
	w.Helper()
	all, err := w.store.Append(w.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: id, Execution: "dig/Memo"}, Writer: transcript.Writer{RunID: "r", ActivityID: "2/1"},
		Rows: []transcript.Row{{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: body}},
	})
	if err != nil {
		w.Fatal(err)
	}
	return all[0].Seq
}

func (w *world) blob(data []byte) string {
	w.Helper()
	hash, err := w.store.PutBlob(w.Context(), data)
	if err != nil {
		w.Fatal(err)
	}
	return hash
}

// A check reports all problems of a request and starts nothing.
func TestCheckRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(in string) system.Checked {
		return read[system.Checked](w, "operator", "POST", "/api/v1/investigations/check", in)
	}
	good := check(`{"chain":"shop","data":{"title":"slow","password":"hunter22hunter22"}}`)
	if good.Chain != "shop" || good.Project != "payments" || len(good.Stages) != 1 || !strings.Contains(good.Data, "slow") {
		t.Errorf("%+v", good)
	}
	if strings.Contains(good.Data, "hunter22") {
		t.Errorf("a secret is shown: %s", good.Data)
	}
	for in, want := range map[string]string{
		`{"chain":"shop"}`:              "nothing to investigate",
		`{"data":"x"}`:                  `set "chain" or "alert_type"`,
		`{"chain":"ship","data":"x"}`:   `project payments has neither the requested chain`,
		`{"alert_type":"a","data":"x"}`: `project payments has neither the requested chain`,
		`{"chain":"shop","data":"x","priority":2,"budgets":{"max_passes":-1}}`: "max_passes",
	} {
		if got := check(in); !strings.Contains(strings.Join(got.Problems, "\n"), want) {
			t.Errorf("%s: %q", in, got.Problems)
		}
	}
	if len(w.temporal.inputs) > 0 {
		t.Errorf("started %+v", w.temporal.inputs)
	}
}

// A client can ask for its own identity and for the acts in an investigation.
func TestAboutAndActs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := read[system.AboutBody](w, "approver", "GET", "/api/v1/about", nil); got.Name != "approver" ||
		got.Roles["payments"] != "approver" {
		t.Errorf("%+v", got)
	}
	id := w.investigation("told", "payments")
	other := w.investigation("other", "payments")
	for _, act := range []audit.Act{
		{Investigation: id, What: audit.Paused, Who: "ada"}, {Investigation: other, What: audit.Paused, Who: "bob"},
		{Investigation: id, What: audit.Resumed, Who: "bob"},
	} {
		if err := w.store.Audit(t.Context(), act); err != nil {
			t.Fatal(err)
		}
	}
	const path = "/api/v1/investigations/told/acts"
	var whole, paged []string
	line := func(a audit.Act) string { return fmt.Sprint(string(a.What), " ", a.Who, " ", a.Investigation == id) }
	for _, act := range read[system.ActsPage](w, "viewer", "GET", path, nil).Items {
		whole = append(whole, line(act))
	}
	for after := int64(0); ; {
		got := read[system.ActsPage](w, "viewer", "GET", fmt.Sprintf("%s?limit=1&after=%d", path, after), nil)
		for _, act := range got.Items {
			paged = append(paged, line(act))
		}
		if after = got.Next; after == 0 || len(got.Items) != 1 {
			break
		}
	}
	said := slices.DeleteFunc(slices.Clone(whole), func(text string) bool { return strings.Contains(text, "  ") }) // by people
	if want := []string{"paused ada true", "resumed bob true"}; !slices.Equal(said, want) || !slices.Equal(whole, paged) {
		t.Errorf("%q, page by page %q, want %q", whole, paged, want)
	}
	if got := w.call("stranger", "GET", path, nil); got.status != http.StatusNotFound {
		t.Errorf("for another project: %d %s", got.status, got.body)
	}
}

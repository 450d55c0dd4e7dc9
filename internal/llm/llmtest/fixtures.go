package llmtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/kit/sse"
	"github.com/inquest-dev/inquest/internal/llm"
)

// documented are answers of the real services, copied from their public documentation, which each file names. A file
// has the answer's status and headers ("head"), its body, and the client's expected response ("want").
//
//go:embed fixtures
var documented embed.FS

func (s suite) documented(t *testing.T) {
	t.Parallel()
	RunFixtures(t, s.wire.name(), func(baseURL string) llm.Client { return s.open(baseURL + s.wire.root()) })
}

// RunFixtures lets a client read the answers of the services in a folder of fixtures, in every way in which they may
// arrive.
func RunFixtures(t *testing.T, folder string, open func(baseURL string) llm.Client) {
	t.Helper()
	files, err := fs.Glob(documented, "fixtures/"+folder+"/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		data, err := documented.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answer := parseFixture(t, txtar.Parse(data))
		for way, send := range ways {
			t.Run(path.Base(file)+"/"+way, func(t *testing.T) { answer.check(t, open, send) })
		}
		t.Run(path.Base(file)+"/after a byte order mark", func(t *testing.T) {
			answer := answer
			answer.body = append([]byte(sse.ByteOrderMark), answer.body...)
			answer.check(t, open, sendWhole)
		})
	}
}

// check lets a client read an answer, and compares the result with the fixture's.
func (f fixture) check(t *testing.T, open func(baseURL string) llm.Client, send func(http.ResponseWriter, []byte)) {
	t.Helper()
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { f.serve(w, send) }))
	defer srv.Close()
	resp, err := open(srv.URL).Generate(t.Context(), plain, nil)
	if diff := cmp.Diff(f.want, asFixture(resp, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// name returns the directory of a wire format's fixtures.
func (w Wire) name() string {
	return [...]string{"openai", "gemini", "geminiarray", "anthropic", "responses"}[w]
}

func (w Wire) root() string {
	if w == OpenAI || w == Responses {
		return "/v1"
	}
	return ""
}

type fixture struct {
	status int
	header textproto.MIMEHeader
	body   []byte
	want   string
}

func parseFixture(t *testing.T, archive *txtar.Archive) fixture {
	t.Helper()
	part := map[string][]byte{}
	for _, f := range archive.Files {
		part[f.Name] = f.Data
	}
	status, head, _ := bytes.Cut(part["head"], []byte("\n"))
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(head, '\n')))).ReadMIMEHeader()
	if err != nil || !bytes.HasPrefix(archive.Comment, []byte("Source: ")) {
		t.Fatalf("headers: %v; source: %s", err, archive.Comment)
	}
	answer := fixture{header: header, body: part["body"], want: string(part["want"])}
	if answer.status, err = strconv.Atoi(string(status)); err != nil {
		t.Fatal(err)
	}
	if header.Get("Test-Lines") == "CRLF" {
		answer.body = bytes.ReplaceAll(answer.body, []byte("\n"), []byte("\r\n"))
	}
	return answer
}

func (f fixture) serve(w http.ResponseWriter, send func(http.ResponseWriter, []byte)) {
	for name, values := range f.header {
		w.Header()[name] = values
	}
	if f.status == http.StatusOK {
		send(w, f.body)
		return
	}
	w.WriteHeader(f.status)
	sendWhole(w, f.body) // only replies are sent in pieces
}

// ways are the ways in which an answer may arrive.
var ways = map[string]func(http.ResponseWriter, []byte){
	"whole": sendWhole, "byte by byte": sendPieces(1), "64 bytes": sendPieces(64), "gzip": sendGzip,
}

// Spelling is an answer in some server's form, with the client's expected response.
type Spelling struct {
	Name   string
	Source string // the source of this form; empty means a variant of the case before it
	Body   string
	Tools  []llm.Tool
	Want   llm.Response // without its provider state
	Err    string       // the expected error, if any
}

// RunSpellings lets a client read answers in every way in which they may arrive.
func RunSpellings(t *testing.T, open func(baseURL string) llm.Client, spellings []Spelling) {
	t.Helper()
	for _, tt := range spellings {
		for way, send := range ways {
			t.Run(tt.Name+"/"+way, func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w, []byte(tt.Body)) }))
				defer srv.Close()
				req := plain
				req.Tools = tt.Tools
				var live llm.Delta
				got, err := open(srv.URL).Generate(t.Context(), req, func(d llm.Delta) {
					live.Content, live.Thinking = live.Content+d.Content, live.Thinking+d.Thinking
				})
				if tt.Err != "" {
					if err == nil || err.Error() != tt.Err {
						t.Errorf("error = %v, want %s", err, tt.Err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.Want, got, cmpopts.EquateEmpty(), opaque); diff != "" {
					t.Errorf("reply (-want +got):\n%s", diff)
				}
				live = llm.Delta{Content: strings.TrimRight(live.Content, "\n "), Thinking: strings.TrimRight(live.Thinking, "\n ")}
				if live.Content != strings.TrimRight(got.Content, "\n ") || live.Thinking != strings.TrimRight(got.Thinking, "\n ") {
					t.Errorf("the live tail shows %+v, the reply is %q after %q", live, got.Content, got.Thinking)
				}
			})
		}
	}
}

func sendWhole(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }

// sendPieces sends pieces of size bytes, each in a separate write.
func sendPieces(size int) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, body []byte) {
		for piece := range slices.Chunk(body, size) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// sendGzip is for clients that accept gzip; net/http does, and unpacks it.
func sendGzip(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	_, _ = packed.Write(body)
	_ = packed.Close()
}

// asFixture returns a reply or an error in the form of the fixtures.
func asFixture(resp llm.Response, err error) string {
	var failed *llm.Error
	switch {
	case errors.As(err, &failed) && failed.RetryAfter > 0:
		return fmt.Sprintf("%v\nretry after %v\n", err, failed.RetryAfter)
	case err != nil:
		return err.Error() + "\n"
	}
	resp.ProviderState = nil
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(resp) // cannot fail: strings and numbers
	return out.String()
}

// Replies returns the bodies of the successful answers in a folder of fixtures.
func Replies(t *testing.T, folder string) (bodies [][]byte) {
	t.Helper()
	files, err := fs.Glob(documented, "fixtures/"+folder+"/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := documented.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if answer := parseFixture(t, txtar.Parse(data)); answer.status == http.StatusOK {
			bodies = append(bodies, answer.body)
		}
	}
	if len(bodies) == 0 {
		t.Fatalf("no fixture in %s is a reply", folder)
	}
	return bodies
}

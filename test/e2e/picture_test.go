package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/live"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

var pictures = flag.Bool("pictures", false, "write the README's pictures, docs/live.png, docs/report.png and docs/page.png, anew")

// TestLongPictures makes the README's pictures: the live view of a real run of the sample while both agents of
// its first stage are running, the first lines of `starter report` on a terminal, and the page.
func TestLongPictures(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, nil, "defaults: {llm_provider: scripted}\n")
	w.env = append(w.env, "NO_COLOR=", "TERM=xterm-256color")
	http := freeAddress(t)
	w.dev("--http", http)
	w.must("run", "--alert-type", "sample-incident", "--data", "@../../examples/sample-incident/alert.json",
		"--workflow-id", "picture", "--detach")
	live := w.liveFrame("picture")
	report := w.terminal("report", "picture", "--no-pager")
	if code := report.wait(); code != 0 {
		t.Fatalf("exit code %d: %s", code, report.log)
	}
	lines := strings.Split(strings.ReplaceAll(report.log.String(), "\r", ""), "\n")
	b := newBrowser(t, "")
	for name, screen := range map[string]string{"live": live, "report": strings.Join(lines[:min(24, len(lines))], "\n")} {
		b.picture("../../docs/"+name+".png", screen)
	}
	b.do("open the page", chromedp.EmulateViewport(1280, 800), chromedp.Navigate("http://"+http+"/#/picture"))
	b.shows("p99 latency of checkout", "Cause", "Incident report", "RecommendAgent")
	var png []byte
	b.do("take its picture", chromedp.CaptureScreenshot(&png))
	b.keep("../../docs/page.png", png)
}

// liveFrame returns the live view at a moment when two agents are running.
func (w *world) liveFrame(workflowID string) (frame string) {
	w.t.Helper()
	s := w.open()
	var r record.Investigation
	var err error
	eventually(w.t, "there is a record", func() bool {
		r, err = s.FindInvestigation(w.t.Context(), workflowID)
		return err == nil
	})
	m := live.New(r.ID)
	m.Resize(100, 24)
	ended := errors.New("ended")
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	err = s.Follow(ctx, r.ID, 0, func(u store.Update) error {
		m.Tick(time.Now())
		if u.Record != nil {
			u.About = client.About(ctx, s, *u.Record)
		}
		m.Take(u)
		table, text, _ := strings.Cut(m.Frame(), "── ")
		both := strings.Contains(table, "LogAgent") && strings.Contains(table, "MetricsAgent") && !strings.Contains(table, "✓")
		if both && strings.Contains(text, "✓") { // a result is on the screen
			frame = m.Frame()
		}
		if m.Record().Status.Closed() {
			return ended
		}
		return nil
	})
	if frame == "" || !errors.Is(err, ended) {
		w.t.Fatalf("no frame has both agents: %v\n%s", err, m.Frame())
	}
	return frame
}

// picture takes a screenshot of a terminal's content.
func (b *browser) picture(path, screen string) {
	b.t.Helper()
	page := `<meta charset="utf-8"><body style="margin:0;background:#14161b">` +
		`<pre id="screen" style="display:inline-block;margin:0;padding:16px;font:15px/1.3 'DejaVu Sans Mono',monospace;color:#d8dbe2">` +
		painted(screen) + `</pre>`
	var png []byte
	b.do("picture "+path, chromedp.Navigate("data:text/html,"+url.PathEscape(page)), chromedp.Screenshot("#screen", &png, chromedp.ByID))
	b.keep(path, png)
}

// keep checks a picture and writes it if requested.
func (b *browser) keep(path string, png []byte) {
	b.t.Helper()
	if !bytes.HasPrefix(png, []byte("\x89PNG")) || len(png) < 10_000 {
		b.t.Errorf("%s would have %d bytes", path, len(png))
	}
	if *pictures {
		if err := os.WriteFile(path, png, 0o644); err != nil {
			b.t.Error(err)
		}
	} else if _, err := os.Stat(path); err != nil {
		b.t.Errorf("%v: go test ./test/e2e -long -run Pictures -pictures makes it", err)
	}
}

var (
	sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")
	colours  = map[string]string{
		"1": "font-weight:bold", "2": "opacity:.6", "3": "font-style:italic", "4": "text-decoration:underline",
		"31": "color:#f7768e", "32": "color:#9ece6a", "33": "color:#e0af68", "34": "color:#7aa2f7", "35": "color:#bb9af7", "36": "color:#7dcfff",
	}
)

// painted returns a screen's text as HTML.
func painted(screen string) string {
	var out strings.Builder
	open, at := 0, 0
	for _, m := range sequence.FindAllStringSubmatchIndex(screen, -1) {
		out.WriteString(html.EscapeString(screen[at:m[0]]))
		at = m[1]
		for code := range strings.SplitSeq(screen[m[2]:m[3]], ";") {
			if style, known := colours[code]; known {
				fmt.Fprintf(&out, `<span style="%s">`, style)
				open++
			} else { // any other code ends the open styles
				out.WriteString(strings.Repeat("</span>", open))
				open = 0
			}
		}
	}
	return out.String() + html.EscapeString(screen[at:]) + strings.Repeat("</span>", open)
}

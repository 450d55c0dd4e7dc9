package page

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, path string, headers map[string]string) *http.Response {
	t.Helper()
	handler, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/": "text/html", "/page/main.js": "text/javascript", "/page/style.css": "text/css", "/page/icon.svg": "image/svg+xml",
		"/page/index.html": "", "/page/": "", "/page/../web.go": "", "/assets/main.js": "",
	} {
		response := ask(t, path, nil)
		if kind == "" {
			if response.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d", path, response.StatusCode)
			}
			continue
		}
		h := response.Header
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), kind) || h.Get("Content-Security-Policy") != Policy {
			t.Errorf("%s: status %d, %v", path, response.StatusCode, h)
		}
		second := ask(t, path, map[string]string{"If-None-Match": h.Get("ETag")})
		if body, _ := io.ReadAll(second.Body); second.StatusCode != http.StatusNotModified || len(body) > 0 {
			t.Errorf("%s, which has not changed: status %d", path, second.StatusCode)
		}
	}
}

// TestFirstView checks that everything for the first view is small.
func TestFirstView(t *testing.T) {
	t.Parallel()
	total := 0
	for _, path := range names(t) {
		response := ask(t, path, map[string]string{"Accept-Encoding": "gzip"})
		body, err := io.ReadAll(response.Body)
		if err != nil || response.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %v, %v", path, err, response.Header)
		}
		total += len(body)
	}
	if total == 0 || total > 150_000 {
		t.Errorf("%d bytes", total)
	}
}

// TestTextIsData checks that no file turns text into markup or code, or names another host.
func TestTextIsData(t *testing.T) {
	t.Parallel()
	never := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|setHTML|srcdoc|` +
		`style=|["'(]https?://\w`)
	for _, path := range names(t) {
		body, err := io.ReadAll(ask(t, path, nil).Body)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", "")
		if found := never.FindString(text); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		for _, reference := range regexp.MustCompile(`(?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(text, -1) {
			t.Errorf("%s: %s does not work behind a path", path, reference[1])
		}
	}
}

func names(t *testing.T) (all []string) {
	t.Helper()
	files, err := fs.ReadDir(assets, "assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if path := "/page/" + f.Name(); path != "/page/index.html" {
			all = append(all, path)
		}
	}
	return append(all, "/")
}

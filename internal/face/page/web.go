// Package page serves the web page. Its files use the HTTP API like any other client.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// Policy lets the page load only from this server, and prevents text from becoming HTML. Images that need a token are fetched and shown
// from memory (blob:).
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is one of the page's files, ready to send.
type file struct {
	kind, tag      string
	plain, gzipped []byte
}

// Handler serves the page at / and its files below /page/. Browsers revalidate each file on every use.
func Handler() (http.Handler, error) {
	files := map[string]file{}
	err := fs.WalkDir(assets, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		gzipped, err := compressed(plain)
		files["/page/"+path.Base(name)] = file{kindOf(name), fmt.Sprintf(`"%x"`, sha256.Sum256(plain)), plain, gzipped}
		return err
	})
	files["/"] = files["/page/index.html"]
	delete(files, "/page/index.html")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, found := files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		f.serve(w, r)
	}), err
}

func compressed(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// kindOf returns the media type of a file, independent of the host's MIME tables.
func kindOf(name string) string {
	return map[string]string{
		".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", Policy)
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.tag)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	body := f.plain
	switch {
	case r.Header.Get("If-None-Match") == f.tag:
		w.WriteHeader(http.StatusNotModified)
		return
	case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		h.Set("Content-Encoding", "gzip")
		body = f.gzipped
	}
	_, _ = w.Write(body) // an error means that the client has left
}

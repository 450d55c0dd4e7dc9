// Package artifact lists the parts of tool results that are not text: images, files, structured data.
package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Artifact is a part of a tool's result.
type Artifact struct {
	// N counts the artifacts of the investigation from 1.
	N int `json:"n"`
	// Name is suitable as a file name and unique within the investigation.
	Name string `json:"name"`
	// Source is the server's name for it, often an address; empty means none.
	Source   string `json:"source,omitempty"`
	MIMEType string `json:"mime_type"` // according to the server
	Size     int    `json:"size"`      // in bytes
	// Ref names the blob in the store.
	Ref       string    `json:"ref"`
	Execution string    `json:"execution"` // "<stage>/<agent>"
	Tool      string    `json:"tool"`
	At        time.Time `json:"at"`
}

// Blobs reads content by its hash.
type Blobs interface {
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// List lists the artifacts that entries name, each content once, in the order of the entries. It reads the blobs of entries that do
// not describe them.
func List(ctx context.Context, entries []transcript.Entry, blobs Blobs) (all []Artifact, err error) {
	seen := map[string]bool{}
	for _, e := range entries {
		for n, ref := range e.Artifacts {
			if e.Superseded || seen[ref] {
				continue
			}
			seen[ref] = true
			a := Artifact{N: len(all) + 1, Ref: ref, Execution: e.Execution, At: e.At}
			if e.Call != nil {
				a.Tool = e.Call.Name
			}
			if len(e.Kept) == len(e.Artifacts) {
				a.Source, a.MIMEType, a.Size = e.Kept[n].Name, e.Kept[n].MIMEType, e.Kept[n].Size
			} else {
				kept, err := Load(ctx, blobs, ref)
				if err != nil {
					return nil, err
				}
				a.Source, a.MIMEType, a.Size = kept.Name, kept.MIMEType, len(kept.Content())
			}
			a.Name = fmt.Sprintf("%d-%s", a.N, fileName(cmp.Or(base(a.Source), a.Tool), a.MIMEType))
			all = append(all, a)
		}
	}
	return all, nil
}

// Read returns the content of an artifact.
func Read(ctx context.Context, blobs Blobs, ref string) ([]byte, error) {
	kept, err := Load(ctx, blobs, ref)
	return kept.Content(), err
}

// Load returns an artifact.
func Load(ctx context.Context, blobs Blobs, ref string) (kept tool.Artifact, err error) {
	body, err := blobs.Blob(ctx, ref)
	if err == nil {
		err = json.Unmarshal(body, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("read artifact %s: %w", ref, err)
	}
	return kept, nil
}

// base returns the last part of an address or path, without the text after "?" and "#".
func base(source string) string {
	source, _, _ = strings.Cut(source, "#")
	source, _, _ = strings.Cut(source, "?")
	return strings.Trim(path.Base(strings.ReplaceAll(source, `\`, "/")), "./")
}

// maxName is the maximum length of a file name, in bytes.
const maxName = 100

// fileName returns a name that is valid in any file system and safe in any shell. The caller prepends a number, so that the name is
// not hidden, an option or the name of a device.
func fileName(name, mimeType string) string {
	safe := func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}
	name = strings.Trim(clip.Bytes(strings.Map(safe, name), maxName), ".-")
	media, _, _ := strings.Cut(mimeType, ";")
	end := cmp.Or(ends[strings.ToLower(strings.TrimSpace(media))], ".bin")
	if has := strings.ToLower(path.Ext(name)); has == end || has != "" && end == ".bin" {
		return name
	}
	return cmp.Or(name, "artifact") + end
}

// ends maps media types to file name extensions. The system's own table differs from host to host.
var ends = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "video/mp4": ".mp4",
	"application/json": ".json", "application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz",
	"text/plain": ".txt", "text/csv": ".csv", "text/html": ".html", "text/markdown": ".md", "text/yaml": ".yaml",
}

// Text reports whether content may be written to a terminal after cleaning.
func Text(data []byte) bool {
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	return utf8.Valid(data) && strings.IndexFunc(string(data), odd) < 0
}

// Package bundle writes a finished investigation into one file, checks such a file without a server, and reads it. The file is a ZIP
// archive whose content is not compressed: its rows can be searched as they are.
package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// format is the version of the file format. A newer one is refused.
const format = 1

// Names of the parts of a bundle.
const (
	manifestName = "bundle.json"
	rowsName     = "rows.jsonl"
	blobsFolder  = "blobs/"
)

// Manifest describes a bundle.
type Manifest struct {
	Format        int       `json:"format"`
	Investigation string    `json:"investigation"`
	Schema        int64     `json:"schema"` // of the store that it comes from: its newest migration
	MadeAt        time.Time `json:"made_at"`
	Rows          int       `json:"rows"`
	Head          string    `json:"head"` // hash of the last row
	Parts         []Part    `json:"parts"`
}

// Part is a file in a bundle.
type Part struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

// Content is an investigation with everything that belongs to it.
type Content struct {
	Record  record.Investigation
	Request []byte // its data
	Plan    []byte // JSON
	Entries []transcript.Entry
	Acts    []audit.Act
	Rows    []record.Row      // as the store has them
	Blobs   map[string][]byte // that the rows refer to, by name
	Schema  int64
}

// line is a line of rows.jsonl. The hash covers the row and the hash of the line before.
type line struct {
	Hash string          `json:"hash"`
	Row  json.RawMessage `json:"row"`
}

func chained(before string, row []byte) string {
	sum := sha256.Sum256(append([]byte(before+"\n"), row...))
	return hex.EncodeToString(sum[:])
}

// Write returns the bundle, and its seal: the hash of all of its bytes.
func Write(c Content, now time.Time) (file []byte, seal string, err error) {
	m := Manifest{Format: format, Investigation: c.Record.ID, Schema: c.Schema, MadeAt: now.UTC(), Rows: len(c.Rows)}
	parts := map[string][]byte{"plan.json": c.Plan, "request": c.Request, "report.md": []byte(c.Record.Report)}
	var rows bytes.Buffer
	for _, r := range c.Rows {
		row, err := json.Marshal(r)
		if err != nil {
			return nil, "", err
		}
		m.Head = chained(m.Head, row)
		text, err := json.Marshal(line{m.Head, row})
		if err != nil {
			return nil, "", err
		}
		rows.Write(append(text, '\n'))
	}
	parts[rowsName] = rows.Bytes()
	// any order: names differ
	for hash, data := range c.Blobs {
		parts[blobsFolder+hash] = data
	}
	if parts["decisions.json"], err = json.MarshalIndent(c.Acts, "", "  "); err != nil {
		return nil, "", err
	}
	if parts["index.html"], err = c.page(); err != nil {
		return nil, "", err
	}
	names := slices.Sorted(maps.Keys(parts))
	for _, name := range names {
		sum := sha256.Sum256(parts[name])
		m.Parts = append(m.Parts, Part{Name: name, SHA256: hex.EncodeToString(sum[:]), Size: len(parts[name])})
	}
	if parts[manifestName], err = json.MarshalIndent(m, "", "  "); err != nil {
		return nil, "", err
	}
	file, err = archive(append([]string{manifestName}, names...), parts, now)
	return file, sealOf(file), err
}

// archive is the same for the same parts and time.
func archive(names []string, parts map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: at.UTC().Truncate(2 * time.Second)})
		if err == nil {
			_, err = f.Write(parts[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close() // it writes the directory
	return out.Bytes(), err
}

func sealOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Bundle is the content of a file.
type Bundle struct {
	Manifest
	Seal  string
	Rows  []record.Row
	Blobs map[string][]byte
}

// CheckSchema returns an error if the rows come from a store that is newer than known, the newest migration of this program.
func (b Bundle) CheckSchema(known int64) error {
	if b.Schema > known {
		return fmt.Errorf("the bundle comes from a store with schema %d, and this program knows %d: use a newer release", b.Schema, known)
	}
	return nil
}

// An AlteredError names the changed part of a bundle.
type AlteredError struct{ What string }

func (e *AlteredError) Error() string { return "the bundle was altered: " + e.What }

// Read checks a bundle and returns its content. It returns an *AlteredError for the first thing that differs from what Write wrote. A
// bundle that was altered and sealed anew is only revealed by its seal.
func Read(file []byte) (b Bundle, err error) {
	b.Seal = sealOf(file)
	parts, err := unpack(file)
	if err != nil {
		return b, err
	}
	if err := b.readManifest(parts[manifestName]); err != nil {
		return b, err
	}
	if err := b.readRows(parts[rowsName]); err != nil {
		return b, err
	}
	if err := b.checkParts(parts); err != nil {
		return b, err
	}
	names := []string{manifestName}
	for _, part := range b.Parts {
		names = append(names, part.Name)
	}
	repacked, err := archive(names, parts, b.MadeAt)
	if err == nil && !bytes.Equal(repacked, file) {
		err = &AlteredError{"bytes outside its files"}
	}
	return b, err
}

// unpack returns the files of an archive. A file that cannot be read completely is returned as far as it could be.
func unpack(file []byte) (map[string][]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("this is not a bundle: %w", err)
	}
	parts := map[string][]byte{}
	for _, f := range r.File {
		if f.Method != zip.Store || f.UncompressedSize64 > uint64(len(file)) {
			return nil, &AlteredError{fmt.Sprintf("file %q is compressed", f.Name)}
		}
		part, err := f.Open()
		if err != nil {
			return nil, &AlteredError{fmt.Sprintf("file %q: %v", f.Name, err)}
		}
		content, err := io.ReadAll(part)
		if err != nil && !errors.Is(err, zip.ErrChecksum) {
			return nil, &AlteredError{fmt.Sprintf("file %q: %v", f.Name, err)}
		}
		parts[f.Name] = content
	}
	return parts, nil
}

func (b *Bundle) readManifest(text []byte) error {
	if text == nil {
		return fmt.Errorf("this is not a bundle: it has no %s", manifestName)
	}
	if err := json.Unmarshal(text, &b.Manifest); err != nil {
		return &AlteredError{fmt.Sprintf("%s: %v", manifestName, err)}
	}
	if b.Format > format {
		return fmt.Errorf("the bundle has format %d, and this program knows formats up to %d: use a newer release", b.Format, format)
	}
	return nil
}

// readRows follows the chain of hashes and names the first row that breaks it.
func (b *Bundle) readRows(text []byte) error {
	head, n := "", 0
	for row := range bytes.Lines(text) {
		n++
		var l line
		if err := json.Unmarshal(row, &l); err != nil {
			return &AlteredError{fmt.Sprintf("row %d is not readable: %v", n, err)}
		}
		r, err := readRow(l.Row)
		written, _ := json.Marshal(l) // what was read can be written
		if err != nil || chained(head, l.Row) != l.Hash || !bytes.Equal(append(written, '\n'), row) {
			return &AlteredError{fmt.Sprintf("row %d%s", n, describe(r))}
		}
		head = l.Hash
		b.Rows = append(b.Rows, r)
	}
	if n != b.Manifest.Rows || head != b.Head {
		return &AlteredError{fmt.Sprintf("rows: %d, up to hash %.12s; rows according to %s: %d, up to %.12s",
			n, head, manifestName, b.Manifest.Rows, b.Head)}
	}
	return nil
}

func readRow(text []byte) (r record.Row, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	for name, value := range r.Values {
		if number, ok := value.(json.Number); ok {
			if r.Values[name], err = number.Int64(); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// describe names the subject of a row.
func describe(r record.Row) string {
	if r.Table == "" {
		return ""
	}
	text := " (table " + r.Table
	for _, name := range []string{"seq", "n", "execution", "iteration", "name"} {
		if value, ok := r.Values[name]; ok {
			text += fmt.Sprintf(", %s %v", name, value)
		}
	}
	return text + ")"
}

func (b *Bundle) checkParts(parts map[string][]byte) error {
	b.Blobs = map[string][]byte{}
	for _, part := range b.Parts {
		content, ok := parts[part.Name]
		sum := sha256.Sum256(content)
		if !ok || len(content) != part.Size || hex.EncodeToString(sum[:]) != part.SHA256 {
			return &AlteredError{fmt.Sprintf("file %q", part.Name)}
		}
		if hash, ok := strings.CutPrefix(part.Name, blobsFolder); ok {
			b.Blobs[hash] = content
		}
	}
	if len(parts) != len(b.Parts)+1 {
		return &AlteredError{"it has files that " + manifestName + " does not list"}
	}
	return nil
}

// maxFile is the largest bundle that is read, in bytes: it is held in memory.
const maxFile = 1 << 30

// Open reads and checks a bundle's file.
func Open(path string) (b Bundle, err error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	var file []byte
	if err == nil {
		file, err = os.ReadFile(path)
	}
	if err == nil {
		b, err = Read(file)
	}
	if err != nil {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

package strict

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// MaxFileSize is the maximum size of a file, in bytes.
const MaxFileSize = 10 << 20

// File is a file that has been read but not parsed.
type File struct {
	Name    string
	Data    []byte
	BuiltIn bool // part of the program
}

// ReadFiles reads every *.yaml file of a directory and the file named besides, or a single file. An empty dir has no
// files.
func ReadFiles(dir, besides string, r *Report) []File {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		r.Unreadable(dir, 0, "%v", Cause(err))
		return nil
	case info.IsDir():
		return readDir(dir, besides, r)
	}
	return readFile(dir, filepath.Base(dir), r)
}

func readDir(dir, besides string, r *Report) []File {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		r.Unreadable(dir, 0, "%v", Cause(err))
		return nil
	}
	var files []File
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir():
		case name == besides, filepath.Ext(name) == ".yaml":
			// Opening a named pipe would wait for its writer.
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.Mode().IsRegular() {
				r.Unreadable(name, 0, "not a regular file: move it out of the directory")
				continue
			}
			files = append(files, readFile(filepath.Join(dir, name), name, r)...)
		case filepath.Ext(name) == ".yml":
			r.WarnFile(name, "ignored: only *.yaml files are read; rename it to *.yaml")
		}
	}
	if len(files) == 0 {
		r.WarnFile("", "no *.yaml in the directory: only the built-in entries are loaded")
	}
	return files
}

// readFile returns the file, or nothing if it cannot be read.
func readFile(path, name string, r *Report) []File {
	f, err := os.Open(path)
	if err != nil {
		r.Unreadable(name, 0, "%v", Cause(err))
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		r.Unreadable(name, 0, "%v", Cause(err))
		return nil
	}
	return []File{{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}} // byte order mark of editors on Windows
}

// Usable reports whether the file's content is readable text, and adds a finding if not.
func (f File) Usable(r *Report) bool {
	switch {
	case len(f.Data) > MaxFileSize:
		r.Unreadable(f.Name, 0, "larger than %d MB", MaxFileSize>>20)
	case bytes.HasPrefix(f.Data, []byte("\xff\xfe")), bytes.HasPrefix(f.Data, []byte("\xfe\xff")):
		r.Unreadable(f.Name, 0, "it is UTF-16, according to its byte order mark: save it as UTF-8")
	case !utf8.Valid(f.Data):
		r.Unreadable(f.Name, 0, "not UTF-8")
	default:
		return true
	}
	return false
}

// ReadRegular reads a file below root, at most limit bytes and one more, which tells that the file is larger. Its errors do not
// repeat the name.
func ReadRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	switch info, err := root.Stat(name); {
	case err != nil:
		return nil, Cause(err)
	case !info.Mode().IsRegular(): // opening a named pipe would wait for its writer
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, Cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, Cause(err)
	}
	return data, nil
}

// Cause drops the path that an error of the file system repeats.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Package wire tests that this build reads the documents of older releases: signals, activity inputs, stored rows, API bodies,
// configuration.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/activities"
)

// corpus has one folder for each release: a document of each type that the release wrote, with a value in every field.
// Released folders are never edited.
const corpus = "testdata"

var recordTo = flag.String("record", "", "write the documents of this build to the folder of `RELEASE`, such as v0.2")

// document is one line of documents.json.
type document struct {
	// Of names the places in which the document occurs. Places with the same type share a document.
	Of   []string        `json:"of"`
	JSON json.RawMessage `json:"json"`
}

// exceptions lists the differences from older releases that are intended, with their reasons. A key is a place, or a place and
// a path in its document.
var exceptions = map[string]string{
	"details of a heartbeat": "version 0.1 writes a text; activities.ReadDoing reads both forms",
}

// releases runs a test for the folder of each release.
func releases(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	found, err := os.ReadDir(corpus)
	if err != nil || len(found) == 0 {
		t.Fatalf("%d releases in %s (%v)", len(found), corpus, err)
	}
	for _, release := range found {
		t.Run(release.Name(), func(t *testing.T) { test(t, filepath.Join(corpus, release.Name())) })
	}
}

// TestDocuments decodes every document of every release into the type that this build uses in its place. Unknown fields and
// lost values are errors.
func TestDocuments(t *testing.T) {
	t.Parallel()
	types := places(t)
	used := map[string]bool{}
	releases(t, func(t *testing.T, dir string) {
		documents := read[[]document](t, filepath.Join(dir, "documents.json"))
		if len(documents) < 100 {
			t.Errorf("%d documents", len(documents))
		}
		for _, d := range documents {
			for _, place := range d.Of {
				for _, problem := range compare(types[place], place, d.JSON) {
					if exceptions[problem.at] == "" {
						t.Errorf("%s: %s", problem.at, problem.text)
					}
					used[problem.at] = true
				}
			}
		}
	})
	for at := range exceptions {
		if !used[at] {
			t.Errorf("the exception %s is not needed", at)
		}
	}
}

// TestHeartbeatOfVersion01 covers the exception for heartbeats.
func TestHeartbeatOfVersion01(t *testing.T) {
	t.Parallel()
	doing := activities.ReadDoing(func(to any) error { return json.Unmarshal([]byte(`"store"`), to) })
	if want := (activities.Doing{Waits: "store"}); doing != want {
		t.Errorf("it reads %+v, want %+v", doing, want)
	}
}

type problem struct{ at, text string }

// compare decodes a document into a type, and encodes it again.
func compare(typ reflect.Type, place string, old []byte) []problem {
	if typ == nil {
		return []problem{{place, "this build has no such document"}}
	}
	value := reflect.New(typ)
	decoder := json.NewDecoder(bytes.NewReader(old))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value.Interface()); err != nil {
		return []problem{{place, err.Error()}}
	}
	second, err := json.Marshal(value.Interface())
	if err != nil {
		return []problem{{place, err.Error()}}
	}
	return lost(place, decoded(old), decoded(second))
}

// decoded returns a document as maps, lists, texts, booleans and json.Number.
func decoded(text []byte) (out any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		panic(err) // json.Marshal wrote it, or it has been decoded before
	}
	return out
}

// lost returns the values of the old document that the new one lacks or has changed. New fields are allowed.
func lost(at string, old, now any) (problems []problem) {
	switch old := old.(type) {
	case map[string]any:
		fields, _ := now.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(old)) {
			value, ok := fields[key]
			if !ok {
				problems = append(problems, problem{at + "." + key, "the field is lost"})
				continue
			}
			problems = append(problems, lost(at+"."+key, old[key], value)...)
		}
		return problems
	case []any:
		if list, ok := now.([]any); ok && len(list) == len(old) {
			for i := range old {
				problems = append(problems, lost(at+"[]", old[i], list[i])...)
			}
			return problems
		}
	}
	if !reflect.DeepEqual(old, now) {
		problems = append(problems, problem{at, fmt.Sprintf("the value %v has become %v", old, now)})
	}
	return problems
}

// TestRecord writes the corpus of this build. Run it with -record when you make a release.
func TestRecord(t *testing.T) {
	if *recordTo == "" {
		t.Skip("writes the corpus of a release: -record RELEASE")
	}
	var all []document
	index := map[string]int{}
	types := places(t)
	for _, place := range slices.Sorted(maps.Keys(types)) {
		text, err := json.Marshal(filled(types[place]).Interface())
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		for _, problem := range compare(types[place], place, text) {
			t.Errorf("%s: %s: add its type to values", problem.at, problem.text)
		}
		n, known := index[string(text)]
		if !known {
			n = len(all)
			index[string(text)] = n
			all = append(all, document{JSON: text})
		}
		all[n].Of = append(all[n].Of, place)
	}
	dir := filepath.Join(corpus, *recordTo)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "documents.json"), all)
	write(t, filepath.Join(dir, "operations.json"), operations(t))
	recordConfig(t, dir)
}

// write writes a list, one element a line. It does not overwrite a file.
func write[T any](t *testing.T, name string, list []T) {
	t.Helper()
	text := []byte("[")
	for i, one := range list {
		line, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	create(t, name, append(text, "\n]\n"...))
}

func create(t *testing.T, name string, text []byte) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.Write(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read[T any](t *testing.T, name string) (out T) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

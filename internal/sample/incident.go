package sample

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// maxFile is the largest file that tools read, in bytes.
const maxFile = 32 << 20

// incident is a folder with an incident's files. os.Root ensures that no name and no symbolic link leads out of it. Nothing is cached
// between calls.
type incident struct {
	root *os.Root
}

// names lists the files in a folder with an extension, without the extension.
func (in incident) names(folder, ending string) ([]string, error) {
	entries, err := fs.ReadDir(in.root.FS(), folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok && !e.IsDir() {
			out = append(out, name)
		}
	}
	return out, nil
}

// pick checks that a folder has a file with this name. If not, the error lists the files that it has. This also keeps separators and ".."
// out of paths.
func (in incident) pick(what, folder, name, ending string) (file string, err error) {
	known, err := in.names(folder, ending)
	if err != nil {
		return "", err
	}
	if !slices.Contains(known, name) {
		return "", fmt.Errorf("unknown %s %q; available: %s", what, name, strings.Join(known, ", "))
	}
	return path.Join(folder, name+ending), nil
}

func (in incident) read(file string) (string, error) {
	info, err := in.root.Stat(file)
	if err != nil {
		return "", err
	}
	if info.Size() > maxFile || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file of at most %d MB", file, maxFile>>20)
	}
	data, err := in.root.ReadFile(file)
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

func (in incident) services() ([]string, error) { return in.names("logs", ".log") }

// log reads one service's log.
func (in incident) log(service string) ([]logline.Line, error) {
	file, err := in.pick("service", "logs", service, ".log")
	if err != nil {
		return nil, err
	}
	text, err := in.read(file)
	if err != nil {
		return nil, err
	}
	return logline.Parse(service, text), nil
}

// span is a time range including both ends. A zero end is open.
type span struct{ from, to time.Time }

func parseSpan(fromName, from, toName, to string) (s span, err error) {
	if s.from, err = parseTime(fromName, from); err != nil {
		return s, err
	}
	if s.to, err = parseTime(toName, to); err != nil {
		return s, err
	}
	if !s.from.IsZero() && !s.to.IsZero() && s.to.Before(s.from) {
		return s, fmt.Errorf("%s is before %s", toName, fromName)
	}
	return s, nil
}

func parseTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, fmt.Errorf("%s: %q is not a time like 2026-03-17T14:04:00Z", name, text)
	}
	return at, nil
}

func (s span) has(at time.Time) bool {
	return (s.from.IsZero() || !at.Before(s.from)) && (s.to.IsZero() || !at.After(s.to))
}

// count limits how much a call returns: want, or the default if zero, but no more than the maximum.
func count(want, normal, most int) (int, error) {
	if want < 0 {
		return 0, fmt.Errorf("limit is %d; it must not be negative", want)
	}
	if want == 0 {
		want = normal
	}
	return min(want, most), nil
}

package configuration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"
)

// TestNamedPipe checks that a named pipe in the directory is refused, because reading it would wait for a writer.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "f.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Source{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "f.yaml: not a regular file: move it out of the directory") {
		t.Error(err)
	}
}

// TestByteOrderMarks checks the byte order marks of editors on Windows: UTF-8's is skipped, and UTF-16 is named in an
// error.
func TestByteOrderMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const agents = "agents: {Memo: {custom_instructions: \"{{.TONE}}\"}}\n"
	write("a.yaml", "\xef\xbb\xbf"+agents)
	write(".env", "\xef\xbb\xbfTONE=calm\n")
	cfg, err := Load(Source{Dir: dir})
	if err != nil || cfg.Agents["Memo"].CustomInstructions != "calm" {
		t.Errorf("%+v, %v", cfg, err)
	}
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(agents)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	write("a.yaml", string(wide))
	_, err = Load(Source{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "a.yaml: it is UTF-16, according to its byte order mark: save it as UTF-8") {
		t.Error(err)
	}
}

package archtest

import (
	"os"
	"regexp"
	"testing"
)

// `go install MODULE/starter@VERSION` refuses a module whose go.mod replaces or excludes something.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^(replace|exclude)\b.*`).Find(text); found != nil {
		t.Errorf("go.mod has %q, with which nobody can install the programs by their module's path", found)
	}
}

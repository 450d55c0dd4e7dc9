package prompt_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/prompt"
)

// TestHash checks that the hash depends on the template and the instructions, and on nothing else.
func TestHash(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, of := range [][]string{{"scoring"}, {"synthesis"}, {"scoring", "a", ""}, {"scoring", "", "a"}} {
		hash, err := prompt.Hash(of[0], of[1:]...)
		second, _ := prompt.Hash(of[0], of[1:]...)
		if err != nil || len(hash) != 16 || hash != second || seen[hash] {
			t.Errorf("%q: %q, %q, %v", of, hash, second, err)
		}
		seen[hash] = true
	}
	if _, err := prompt.Hash("nothing"); err == nil {
		t.Error("an unknown template has a hash")
	}
}

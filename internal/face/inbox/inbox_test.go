package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func give(t *testing.T, n Numbers, names ...string) (got []int) {
	t.Helper()
	var all []*Item
	for _, name := range names {
		all = append(all, &Item{Investigation: "w:1", Name: name})
	}
	if err := n.Give(all); err != nil {
		t.Error(err)
	}
	for _, one := range all {
		got = append(got, one.N)
	}
	return got
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	n := Numbers{filepath.Join(t.TempDir(), "state", "inbox.json")}
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "b"}, "[1 2]"},
		{[]string{"b", "c"}, "[2 3]"},
		{[]string{"a"}, "[1]"},
	} {
		if got := fmt.Sprint(give(t, n, tt.names...)); got != tt.want {
			t.Errorf("%s got %s, want %s", tt.names, got, tt.want)
		}
	}
	if found, ok, err := n.Get(3); !ok || err != nil || found.Name != "c" {
		t.Errorf("3 is %+v, %v, %v", found, ok, err)
	}
	if _, ok, err := n.Get(4); ok || err != nil {
		t.Errorf("4 is known: %v, %v", ok, err)
	}
}

// A window from before the weekend still shows number 1.
func TestNumbersAreNeverGivenAgain(t *testing.T) {
	t.Parallel()
	n := Numbers{filepath.Join(t.TempDir(), "inbox.json")}
	then := time.Now().Add(-72 * time.Hour).Format(time.RFC3339)
	body := `{"last":1,"listed":"` + then + `","things":[{"n":1,"investigation":"w:1","name":"a","kind":"","digest":""}]}`
	if err := os.WriteFile(n.Path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := give(t, n, "b", "a"); got[0] != 2 || got[1] != 1 {
		t.Errorf("b and a have %v", got)
	}
}

// Concurrent lists get different numbers, and the file is consistent at any time.
func TestNumbersOfManyAtOnce(t *testing.T) {
	t.Parallel()
	n := Numbers{filepath.Join(t.TempDir(), "inbox.json")}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { give(t, n, fmt.Sprint(i)) })
	}
	all.Wait()
	seen := map[string]bool{}
	for i := range 20 {
		found, ok, err := n.Get(i + 1)
		if !ok || err != nil || seen[found.Name] {
			t.Errorf("%d is %+v, %v, %v", i+1, found, ok, err)
		}
		seen[found.Name] = true
	}
}

package store

import "testing"

// A lost process must not keep its locks, but settings in the address take precedence.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	const setting = "idle_in_transaction_session_timeout"
	for dsn, want := range map[string]string{
		"postgres://u@h/db":                                  "30s",
		"postgres://u@h/db?" + setting + "=5min":             "5min",
		"postgres://u@h/db?lock_timeout=0&connect_timeout=3": "30s",
	} {
		config, err := configure(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.RuntimeParams[setting]; got != want {
			t.Errorf("%s: %s is %q, want %q", dsn, setting, got, want)
		}
	}
}

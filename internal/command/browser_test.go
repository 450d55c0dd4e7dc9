package command

import "testing"

func TestNoDisplay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		system string
		env    map[string]string
		want   string
	}{
		"a desktop":        {"linux", map[string]string{"DISPLAY": ":0"}, ""},
		"Wayland":          {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "CI": "false"}, ""},
		"a server":         {"linux", nil, "no display found"},
		"a Mac":            {"darwin", nil, ""},
		"Windows":          {"windows", nil, ""},
		"CI":               {"darwin", map[string]string{"CI": "true"}, "running in CI"},
		"CI with displays": {"linux", map[string]string{"CI": "1", "DISPLAY": ":99"}, "running in CI"},
	} {
		got := ""
		if err := noDisplay(tt.system, func(key string) string { return tt.env[key] }); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

package transcript

import (
	"encoding/json"
	"testing"
)

// Marks are short in histories, and survive encoding and decoding.
func TestMarks(t *testing.T) {
	t.Parallel()
	type holder struct {
		Seen []Mark `json:"seen,omitempty"`
		Last Mark   `json:"last,omitzero"`
	}
	for name, tt := range map[string]struct {
		in   holder
		want string
	}{
		"none": {holder{}, `{}`},
		"some": {holder{[]Mark{{1, 1795600424493550}, {1 << 40, 2}}, Mark{36, 36}}, `{"seen":["1.hohjg3ppta","e13wu1og.2"],"last":"10.10"}`},
	} {
		body, err := json.Marshal(tt.in)
		if err != nil || string(body) != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, body, err, tt.want)
		}
		var read holder
		if err := json.Unmarshal(body, &read); err != nil || len(read.Seen) != len(tt.in.Seen) || read.Last != tt.in.Last {
			t.Errorf("%s: %s is read as %+v, %v", name, body, read, err)
		}
		for n := range read.Seen {
			if read.Seen[n] != tt.in.Seen[n] {
				t.Errorf("%s: mark %d is read as %+v", name, n, read.Seen[n])
			}
		}
	}
	for _, bad := range []string{`""`, `"1"`, `"1."`, `".1"`, `"1.2.3"`, `"-.1"`, `7`} {
		if err := json.Unmarshal([]byte(bad), new(Mark)); err == nil {
			t.Errorf("%s is read as a mark", bad)
		}
	}
}

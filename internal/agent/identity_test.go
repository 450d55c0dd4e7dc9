package agent

import (
	"strings"
	"testing"
)

func TestWhoIsAmong(t *testing.T) {
	t.Parallel()
	ada := &Identity{Name: "ada", Groups: []string{"sre", "@bob"}, Channel: ChannelCLI}
	for name, tt := range map[string]struct {
		who  *Identity
		list []string
		want bool
	}{
		"by a group":                         {ada, []string{"dba", "sre"}, true},
		"by name":                            {ada, []string{"@ada"}, true},
		"another group":                      {ada, []string{"dba"}, false},
		"a group that is called like her":    {ada, []string{"ada"}, false},
		"a person that is called as a group": {ada, []string{"@sre"}, false},
		"a group that looks like a person":   {ada, []string{"@bob"}, false},
		"nobody was checked":                 {nil, []string{"sre"}, false},
		"an empty list":                      {ada, nil, false},
	} {
		if got := tt.who.Among(tt.list); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestIdentitiesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		who  *Identity
		want string
	}{
		"nobody":       {nil, ""},
		"whole":        {&Identity{Name: "ada", Channel: "cli", Groups: []string{"sre"}}, ""},
		"no name":      {&Identity{Channel: "cli"}, "no name"},
		"no channel":   {&Identity{Name: "ada"}, "no channel"},
		"a turned one": {&Identity{Name: "ada", Channel: "cli", Groups: []string{"sre\u202e"}}, "invisible"},
		"too many":     {&Identity{Name: "ada", Channel: "cli", Groups: make([]string, maxGroups+1)}, "201 groups"},
	} {
		err := tt.who.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

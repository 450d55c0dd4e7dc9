package remember_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/trust/remember"
)

func like(glob string) remember.Pattern { return remember.Pattern{Glob: glob} }

func is(value string) remember.Pattern { return remember.Pattern{Equals: json.RawMessage(value)} }

type args = map[string]remember.Pattern

func TestFits(t *testing.T) {
	t.Parallel()
	scale := args{"namespace": like("dev-*"), "replicas": is("3")}
	for _, test := range []struct {
		tool      string
		rule      args
		arguments string
		want      bool
	}{
		{"k.scale", scale, `{"namespace":"dev-a","replicas":3}`, true},
		{"k.scale", scale, `{"replicas":3, "namespace":"dev-a"}`, true},
		{"k.scale", scale, `{"namespace":"dev-a","replicas":4}`, false},
		{"k.scale", scale, `{"namespace":"dev-a","replicas":"3"}`, false},
		{"k.scale", scale, `{"namespace":"dev-a"}`, false},                                        // one is missing
		{"k.scale", scale, `{"namespace":"dev-a","replicas":3,"force":true}`, false},              // one is unknown
		{"k.scale", scale, `{"namespace":"dev-a","replicas":3,"Namespace":"prod"}`, false},        // some servers accept this spelling
		{"k.scale", scale, `{"namespace":["dev-a"],"replicas":3}`, false},                         // a list is not text
		{"k.scale", scale, `{"namespace":null,"replicas":3}`, false},                              // nor is null
		{"k.scale", scale, `{"namespace":"dev-a prod","replicas":3}`, false},                      // white space
		{"k.scale", scale, `{"namespace":"dev-a;prod","replicas":3}`, false},                      // shell syntax
		{"k.scale", scale, "{\"namespace\":\"dev-a\u202eprod\",\"replicas\":3}", false},           // reversed text
		{"k.scale", scale, `{"namespace":"dev-a/../prod","replicas":3}`, false},                   // a parent folder
		{"k.scale", scale, `{"namespace":"xdev-a","replicas":3}`, false},                          // the pattern matches the whole value
		{"k.get", args{}, `{}`, true},                                                             //
		{"k.get", args{}, ``, true},                                                               //
		{"k.get", args{}, `{"a":1}`, false},                                                       //
		{"chat.post", args{"text": like("*")}, `{"text":"Deployed; $(all) is well."}`, true},      // * alone matches anything
		{"chat.post", args{"text": is(`{"b":1,"a":[1, 2]}`)}, `{"text":{"a":[1,2],"b":1}}`, true}, // in any spelling
		{"shell", args{"command": like("kubectl get pods -n dev-*")}, `{"command":"kubectl get pods -n dev-a"}`, true},
		{"shell", args{"command": like("kubectl get pods -n dev-*")}, `{"command":"kubectl get pods -n dev-a; id"}`, false},
		{"ops.run_command", args{"cmd": like("ls log-*")}, `{"cmd":"ls log-1 > x"}`, false},
		{"shell", args{"command": is(`"uptime"`)}, `{"command":"uptime"}`, true},
		{"shell", args{"command": is(`"sh x"`)}, `{"command":"sh x"}`, false}, // the program may change
		{"k.scale", scale, `not JSON`, false},
		{"k.scale", scale, `{"namespace":"dev-a,kube-system","replicas":3}`, false}, // a list of names
		{"k.scale", scale, `{"namespace":"dev-","replicas":3}`, false},              // * never matches an empty text
		{"http.get", args{"path": like("/api/v1/namespaces/dev-*")}, `{"path":"/api/v1/namespaces/dev-a/%2e%2e/kube-system/secrets"}`, false},
		{"http.get", args{"url": like("https://*.example.com")}, `{"url":"https://evil.test/.example.com"}`, false},
		{"http.get", args{"url": like("https://*.example.com")}, `{"url":"https://a.example.com"}`, true},
		{"fs.remove", args{"path": like("/srv/cache/*")}, `{"path":"/srv/cache/"}`, false},
		{"fs.remove", args{"path": like("/srv/cache/*")}, `{"path":"/srv/cache/."}`, false},
		{"fs.remove", args{"path": like("/srv/cache/*")}, `{"path":"/srv/cache/.."}`, false},
		{"fs.remove", args{"path": like("/srv/cache/*")}, `{"path":"/srv/cache/a"}`, true},
		{"ops.run", args{"cmd_line": like("ls log-*")}, `{"cmd_line":"ls log-1"}`, true},
		{"ops.run", args{"code": like("*")}, `{"code":"os.remove('x')"}`, false}, // a rule from before this was refused
	} {
		rule := remember.Rule{Tool: test.tool, Arguments: test.rule}
		args, err := remember.Parse(test.arguments)
		if got := err == nil && rule.Matcher()(args); got != test.want {
			t.Errorf("%s fits %s: %t", rule, test.arguments, got)
		}
	}
}

// TestACallIsJudgedCheaply: a rule is tried on 100,000 past calls. With encoding/json, this call would take 26 allocations.
func TestACallIsJudgedCheaply(t *testing.T) {
	const most = 12
	rule := remember.Rule{Tool: "k.scale", Arguments: args{"namespace": like("dev-*"), "kind": is(`"pod"`), "replicas": like("*")}}
	fits := rule.Matcher()
	took := testing.AllocsPerRun(100, func() {
		args, err := remember.Parse(`{"namespace":"dev-a","kind":"pod","replicas":3}`)
		if err != nil || !fits(args) {
			t.Fatal("it does not fit")
		}
	})
	if took > most {
		t.Errorf("%.0f allocations", took)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for want, change := range map[string]func(*remember.Rule){
		"":                             func(*remember.Rule) {},
		"needs a tool":                 func(r *remember.Rule) { r.Tool = "" },
		"needs an author":              func(r *remember.Rule) { r.By = "" },
		"already have expired":         func(r *remember.Rule) { r.Expires = &now },
		"longer than 1000":             func(r *remember.Rule) { r.Because = strings.Repeat("x", 1001) },
		"more than 65536 bytes":        func(r *remember.Rule) { r.Arguments = args{"a": like(strings.Repeat("x", 70_000))} },
		"either a value or a glob":     func(r *remember.Rule) { r.Arguments = args{"a": {}} },
		"invisible characters":         func(r *remember.Rule) { r.Arguments = args{"a": like("x\u202e*")} },
		"command: a rule cannot cover": func(r *remember.Rule) { r.Tool, r.Arguments = "shell", args{"command": like("*")} },
		"project name has":             func(r *remember.Rule) { r.Where.Project = "*" },
		"cmd: a rule cannot cover":     func(r *remember.Rule) { r.Arguments = args{"cmd": is(`"sudo ls"`)} },
	} {
		r := remember.Rule{Tool: "k.scale", By: "Ada", Arguments: args{"namespace": like("dev-*")}}
		change(&r)
		if err := r.Validate(now); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAnythingThatIsRun: * alone is refused for arguments that are executed, whatever their names.
func TestAnythingThatIsRun(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{
		"cmd": true, "cmdline": true, "cmd_line": true, "cmd-line": true, "commands": true, "command_line": true, "shellCommand": true,
		"script_text": true, "scriptText": true, "execCode": true, "args": true, "argv": true, "code": true,
		"sql_query": true, "Runcommand": true,
		"description": false, "subscription": false, "encoded": false, "namespace": false, "executor": false,
	} {
		r := remember.Rule{Tool: "ops.run", By: "Ada", Arguments: args{name: like("*")}}
		if err := r.Validate(time.Now()); (err != nil) != refused {
			t.Errorf("%s=*: %v", name, err)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	place := remember.Where{Project: "p", Chain: "c", Stage: "s", Environment: "dev"}
	for where, want := range map[remember.Where]bool{
		{}: true, {Chain: "c"}: true, {Chain: "c", Stage: "s", Environment: "dev"}: true, {Chain: "d"}: false, {Stage: "c"}: false,
		{Chain: "c", Environment: "prod"}: false,
		{Project: "p"}:                    true, {Project: "q"}: false, {Project: "p", Chain: "d"}: false,
	} {
		if where.Admits(place) != want {
			t.Errorf("%+v admits %+v: %t", where, place, !want)
		}
	}
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	r := remember.Rule{Tool: "k.scale", Arguments: args{
		"a": like("dev-*-web"), "b": is(`"x*y"`), "c": is(`3`), "d": like("*"), "e": is(`"a\"b"`), "f": is(`"ü"`), "cmd": like("ls x"),
	}}
	if got := strings.Join(r.Literals(), " "); got != "dev- x*y" {
		t.Errorf("got %s", got)
	}
}

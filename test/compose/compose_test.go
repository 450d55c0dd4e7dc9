// Package compose checks the compose file and the Dockerfile, without Docker.
package compose

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

var passwords = []string{"POSTGRES_PASSWORD=p", "TEMPORAL_DB_PASSWORD=it's/@", "INQUEST_DB_PASSWORD=p@ss/word'"}

func load(t *testing.T) *types.Project {
	t.Helper()
	project, err := loadWith(t, passwords)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func loadWith(t *testing.T, env []string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../../docker-compose.temporal.yml"}, cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context()) // against the schema of the specification
}

// No password has a default, and none stands in an address, where "@" and "/" would break it.
func TestPasswordsAreDemanded(t *testing.T) {
	t.Parallel()
	for i := range passwords {
		name, _, _ := strings.Cut(passwords[i], "=")
		if _, err := loadWith(t, slices.Delete(slices.Clone(passwords), i, i+1)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, s := range load(t).Services {
		for name, value := range s.Environment {
			if value != nil && strings.Contains(*value, "://") && strings.Contains(*value, "p@ss") {
				t.Errorf("%s: %s holds a password", s.Name, name)
			}
		}
	}
}

// The roles are made by a real PostgreSQL from the file's own script. Ours is no
// superuser, opens its store, and reads nothing of Temporal's; nor does Temporal's of ours.
func TestRoles(t *testing.T) {
	t.Parallel()
	server, project := postgrestest.Start(t), load(t)
	admin, err := url.Parse(server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	script := project.Configs["roles"].Content
	if !strings.Contains(script, "-U postgres ") {
		t.Fatalf("the script is\n%s", script)
	}
	script = strings.Replace(script, "-U postgres ", "-U inquest ", 1) // the test's superuser, who makes room
	script = strings.NewReplacer("ROLE inquest", "ROLE ours", "OWNER inquest", "OWNER ours").Replace(script)
	run := exec.Command("sh", "-ec", script)
	run.Env = append(os.Environ(), append(passwords, "PGHOST="+admin.Hostname(), "PGPORT="+admin.Port(), "PGPASSWORD="+server.Password)...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := func(user, password, database string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: admin.Host, Path: "/" + database}
		return u.String()
	}
	s, err := store.Open(t.Context(), store.At(address("ours", "p@ss/word'", "inquest")))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, other := range []string{address("temporal", "it's/@", "inquest"), address("ours", "p@ss/word'", "postgres"),
		address("ours", "p", "inquest")} {
		if s, err := store.Open(t.Context(), store.At(other)); err == nil {
			s.Close()
			t.Errorf("a store can be opened by %s", store.At(other))
		}
	}
}

func TestComposeFile(t *testing.T) {
	t.Parallel()
	project := load(t)
	want := []string{"guard", "namespace", "postgresql", "schema", "temporal", "ui", "worker-1", "worker-2"}
	if got := project.ServiceNames(); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for _, name := range []string{"postgresql", "temporal", "worker-1", "worker-2"} {
		if check := project.Services[name].HealthCheck; check == nil || len(check.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
	}
	for _, s := range project.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q: not on loopback", s.Name, port.Published, port.HostIP)
			}
		}
		if s.Image != "" && s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s is not pinned", s.Name, s.Image)
		}
	}
	if published := project.Services["ui"].Ports; len(published) > 0 {
		t.Errorf("the UI is published beside its guard: %v", published)
	}
	if len(project.Services["postgresql"].Volumes) == 0 || len(project.Volumes) == 0 {
		t.Error("PostgreSQL keeps its data in no volume")
	}
}

// The workers' flags are those that the program has.
func TestWorkersFlagsExist(t *testing.T) {
	t.Parallel()
	for service, file := range map[string]string{"worker-1": "main.go", "guard": "guard.go"} {
		source, err := os.ReadFile("../../worker/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range load(t).Services[service].Command {
			if flag, ok := strings.CutPrefix(arg, "--"); ok && !strings.Contains(string(source), `"`+flag+`"`) {
				t.Errorf("%s: worker has no flag --%s", service, flag)
			}
		}
	}
}

// pinned is an image of an exact version and its digest.
var pinned = regexp.MustCompile(`^[a-z./-]+:[0-9]+\.[0-9]+[0-9a-z.-]*@sha256:[0-9a-f]{64}$`)

var copied = regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`)

// What the Dockerfile copies is there, and what it builds is a program.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range copied.FindAllStringSubmatch(string(body), -1) {
		for name := range strings.FieldsSeq(match[1]) {
			if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(body), -1) {
		if !pinned.MatchString(match[1]) {
			t.Errorf("the image %s is not pinned", match[1])
		}
	}
	for _, program := range []string{"worker", "starter"} {
		if !strings.Contains(string(body), "./"+program) {
			t.Errorf("the image has no %s", program)
		}
	}
}

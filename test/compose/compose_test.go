// Package compose checks the compose file and the Dockerfile, without Docker.
package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func load(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../../docker-compose.temporal.yml"}, cli.WithEnv([]string{"POSTGRES_PASSWORD=p"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context()) // against the schema of the specification
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestComposeFile(t *testing.T) {
	t.Parallel()
	project := load(t)
	want := []string{"namespace", "postgresql", "schema", "temporal", "ui", "worker-1", "worker-2"}
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
		if s.Image != "" && s.Build == nil && (!strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest")) {
			t.Errorf("%s: the image %s is not pinned", s.Name, s.Image)
		}
	}
	if len(project.Services["postgresql"].Volumes) == 0 || len(project.Volumes) == 0 {
		t.Error("PostgreSQL keeps its data in no volume")
	}
}

// The workers' flags are those that the program has.
func TestWorkersFlagsExist(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../worker/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range load(t).Services["worker-1"].Command {
		if flag, ok := strings.CutPrefix(arg, "--"); ok && !strings.Contains(string(source), `"`+flag+`"`) {
			t.Errorf("worker has no flag --%s", flag)
		}
	}
}

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
	for _, program := range []string{"worker", "starter"} {
		if !strings.Contains(string(body), "./"+program) {
			t.Errorf("the image has no %s", program)
		}
	}
}

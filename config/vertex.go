package config

import (
	"cmp"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
)

// Vertex says where a provider of type vertexai runs, and with which credentials.
type Vertex struct {
	// Project is the Google Cloud project that pays; only for vertexai, which requires it.
	Project string `yaml:"project" default:"that of project_env"`
	// ProjectEnv names the variable that has the project.
	ProjectEnv string `yaml:"project_env" default:"GOOGLE_CLOUD_PROJECT"`
	// Location is the region in which the model runs ("europe-west4", "global").
	Location string `yaml:"location" default:"that of location_env, or else global"`
	// LocationEnv names the variable that has the location.
	LocationEnv string `yaml:"location_env" default:"GOOGLE_CLOUD_LOCATION"`
	// CredentialsEnv names the variable that has the path of a credentials file. Without it, Google's application
	// default credentials apply: those of a file, of gcloud, or of the machine.
	CredentialsEnv string `yaml:"credentials_env" default:"GOOGLE_APPLICATION_CREDENTIALS"`
}

// claude reports whether a provider of type vertexai has a Claude model. All others are Gemini models.
func (pr *Provider) claude() bool { return strings.HasPrefix(pr.Model, "claude-") }

// plan returns the settings for a plan, with the usual names of variables as defaults.
func (x Vertex) plan() plan.Vertex {
	out := plan.Vertex(x)
	out.ProjectEnv = cmp.Or(out.ProjectEnv, "GOOGLE_CLOUD_PROJECT")
	out.LocationEnv = cmp.Or(out.LocationEnv, "GOOGLE_CLOUD_LOCATION")
	out.CredentialsEnv = cmp.Or(out.CredentialsEnv, "GOOGLE_APPLICATION_CREDENTIALS")
	return out
}

func (pr *Provider) validateVertex(p path, v *validator) {
	if pr.Type != ProviderVertex {
		if pr.Vertex != (Vertex{}) {
			v.Errorf(p, "only a provider of type vertexai has a project, a location and credentials_env")
		}
		return
	}
	switch {
	case pr.Driver == DriverGenerativeAI && pr.gemini():
		v.Errorf(p.Key("driver"), "driver %s does not reach Vertex AI: use %s", DriverGenerativeAI, DriverGenAI)
	case pr.APIKeyEnv != "":
		v.Errorf(p.Key("api_key_env"), "a provider of type vertexai has no key: see credentials_env")
	case pr.Model != "" && !strings.HasPrefix(pr.Model, "gemini-") && !pr.claude():
		v.Errorf(p.Key("model"), "at Vertex AI only models of Gemini and Claude are reached, got %q", pr.Model)
	}
	at := pr.Vertex.plan()
	names := map[string]string{"project_env": at.ProjectEnv, "location_env": at.LocationEnv, "credentials_env": at.CredentialsEnv}
	for key, name := range names {
		if !variableName.MatchString(name) {
			v.Errorf(p.Key(key), "must be the name of an environment variable")
		}
	}
}

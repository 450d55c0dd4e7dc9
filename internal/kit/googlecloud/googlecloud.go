// Package googlecloud provides URLs of models on Google Cloud (Vertex AI), and credentials for requests to them.
// The Gemini and Claude drivers share it.
package googlecloud

import (
	"cmp"
	"context"
	"sync"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"github.com/inquest-dev/inquest/internal/llm"
)

// Place is a project in a location. It is safe for concurrent use.
type Place struct {
	Project, Location string

	mu    sync.Mutex
	creds *auth.Credentials
}

// At returns a place. An empty location means global. Nil credentials mean the application default credentials,
// which are looked up when first needed.
func At(project, location string, creds *auth.Credentials) *Place {
	return &Place{Project: project, Location: cmp.Or(location, "global"), creds: creds}
}

// CredentialsFile reads a file with the credentials of a service account, a person, or workload identity federation. The
// configuration names the file, so its content is trusted.
func CredentialsFile(path string) (*auth.Credentials, error) {
	//lint:ignore SA1019 the replacement needs to know the kind of credentials in advance
	return credentials.DetectDefault(&credentials.DetectOptions{Scopes: scopes, CredentialsFile: path})
}

var scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}

// BaseURL returns the base URL of the location.
// https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations (read 2026-11-22)
func (p *Place) BaseURL() string {
	switch p.Location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu": // multi-regions: https://docs.cloud.google.com/vertex-ai/docs/general/googleapi-access-methods (read 2026-11-23)
		return "https://aiplatform." + p.Location + ".rep.googleapis.com"
	}
	return "https://" + p.Location + "-aiplatform.googleapis.com"
}

// Headers returns the headers that a request needs, and the access token in them, so that the caller can redact it
// from errors.
func (p *Place) Headers(ctx context.Context) (headers map[string]string, token string, err error) {
	creds, err := p.credentials()
	if err != nil {
		return nil, "", &llm.Error{Kind: llm.ErrNoKey, Message: "Google's application default credentials: " + err.Error()}
	}
	now, err := creds.Token(ctx)
	if err != nil {
		return nil, "", &llm.Error{Kind: llm.ErrUnavailable, Message: "no Google Cloud access token: " + err.Error()}
	}
	headers = map[string]string{"Authorization": "Bearer " + now.Value}
	if project, err := creds.QuotaProjectID(ctx); err == nil && project != "" {
		headers["X-Goog-User-Project"] = project
	}
	return headers, now.Value, nil
}

func (p *Place) credentials() (*auth.Credentials, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.creds != nil {
		return p.creds, nil
	}
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: scopes})
	if err == nil {
		p.creds = creds
	}
	return creds, err
}

package googlecloud_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"": "https://aiplatform.googleapis.com", "global": "https://aiplatform.googleapis.com",
		"europe-west4": "https://europe-west4-aiplatform.googleapis.com", "eu": "https://aiplatform.eu.rep.googleapis.com",
	} {
		if got := googlecloud.At("lab", location, nil).BaseURL(); got != want {
			t.Errorf("%q: %s, want %s", location, got, want)
		}
	}
}

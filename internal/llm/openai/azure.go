package openai

import (
	"net/http"
	"net/url"

	sdk "github.com/sashabaranov/go-openai"
)

// azureConfig is Azure's spelling: the deployment in the path, the version in the
// query, the key in the header api-key.
func azureConfig(key, version string) sdk.ClientConfig {
	config := sdk.DefaultAzureConfig(key, "")
	config.APIVersion = version
	// The library would take the dots out of some deployments' names.
	config.AzureModelMapperFunc = url.PathEscape
	return config
}

// withoutRedirects returns a client that follows none: net/http keeps the header
// Authorization from other hosts, but not api-key.
func withoutRedirects(base *http.Client) *http.Client {
	client := *base
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

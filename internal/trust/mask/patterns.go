package mask

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// kind is a built-in pattern.
type kind uint8

const (
	none kind = iota
	apiKey
	password
	token
	authorization
	jwt
	secretKey
	privateKey
	certificate
	certificateAuthorityData
	sshKey
	email
	basicAuth
	databaseDSN
	awsAccessKey
	awsSecretKey
	azureKey
	gcpKey
	githubToken
	slackToken
	kubernetesSecret
	base64Secret
	base64Short
	kinds
)

// pattern is a kind's public name and its description.
type pattern struct{ name, about string }

var patterns = [kinds]pattern{
	apiKey:                   {"api_key", "values of fields named like an API key, and API keys in well-known formats (sk-…, npm_…, hf_…)"},
	password:                 {"password", "values of fields and command-line options named like a password or passphrase"},
	token:                    {"token", "values of fields named like a token, `Bearer …`, and tokens in well-known formats (glpat-…, hvs.…)"},
	authorization:            {"authorization", "values of the Authorization, Proxy-Authorization, Cookie and Set-Cookie headers"},
	jwt:                      {"jwt", "JSON web tokens"},
	secretKey:                {"secret_key", "values of fields named like a secret: secret_key, client_secret, signing_key"},
	privateKey:               {"private_key", "PEM private key blocks, even truncated, and values of fields named like a private key"},
	certificate:              {"certificate", "PEM blocks of all kinds, and client-certificate-data"},
	certificateAuthorityData: {"certificate_authority_data", "values of certificate-authority-data and caBundle"},
	sshKey:                   {"ssh_key", "SSH public keys and OPENSSH PRIVATE KEY blocks"},
	email:                    {"email", "email addresses of people, and payment card numbers written in groups: 4111 1111 1111 1111"},
	basicAuth:                {"basic_auth", "passwords in URLs, `Basic …`, and `curl -u user:…`"},
	databaseDSN:              {"database_dsn", "passwords in the URLs and DSNs of databases and message brokers"},
	awsAccessKey:             {"aws_access_key", "AWS access key IDs"},
	awsSecretKey:             {"aws_secret_key", "AWS secret access keys"},
	azureKey:                 {"azure_key", "Azure account keys, shared access keys and signatures, alone and in connection strings"},
	gcpKey:                   {"gcp_key", "Google Cloud API keys, access tokens and service account keys"},
	githubToken:              {"github_token", "GitHub tokens"},
	slackToken:               {"slack_token", "Slack tokens and webhooks"},
	kubernetesSecret:         {"kubernetes_secret", "data and stringData of Kubernetes Secrets, in YAML or JSON, even truncated or embedded"},
	base64Secret:             {"base64_secret", "base64 text of 24 or more characters that looks random"},
	base64Short:              {"base64_short", "padded base64 text of 4 to 23 characters that is the value of a field"},
}

// group is a named set of patterns.
type group struct {
	name, about string
	kinds       []kind
}

var (
	basicKinds    = []kind{apiKey, password}
	secretKinds   = append(slices.Clone(basicKinds), token, authorization, jwt, secretKey, privateKey, basicAuth, databaseDSN)
	cloudKinds    = []kind{awsAccessKey, awsSecretKey, azureKey, gcpKey, githubToken, slackToken}
	securityKinds = append(append(slices.Clone(secretKinds), cloudKinds...),
		certificate, certificateAuthorityData, sshKey, email, kubernetesSecret)
)

var groups = []group{
	{"basic", "API keys and passwords", basicKinds},
	{"secrets", "basic, plus tokens, authorization headers, secret and private keys, and passwords in URLs", secretKinds},
	{"security", "secrets, cloud and kubernetes, plus certificates, SSH keys and email addresses", securityKinds},
	{"kubernetes", "Kubernetes Secrets, and credentials in kubeconfigs and manifests",
		[]kind{kubernetesSecret, apiKey, password, token, jwt, privateKey, certificateAuthorityData}},
	{"cloud", "AWS, Azure and Google Cloud keys, GitHub and Slack tokens, and API keys, tokens and secret keys of other services",
		append(slices.Clone(cloudKinds), apiKey, token, jwt, secretKey)},
	{"all", "every pattern, including the two for base64", append(slices.Clone(securityKinds), base64Secret, base64Short)},
}

// set is a set of kinds.
type set uint32

func setOf(all ...kind) (s set) {
	for _, k := range all {
		s |= 1 << k
	}
	return s &^ 1 // none is in no set
}

func (s set) has(k kind) bool         { return s&(1<<k) != 0 }
func (s set) any(wanted ...kind) bool { return s&setOf(wanted...) != 0 }

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(patterns[1:], func(p pattern) bool { return p.name == name })
	return kind(i + 1), i >= 0
}

// Names lists the built-in patterns, sorted.
func Names() []string {
	var names []string
	for _, p := range patterns[1:] {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// Groups returns the patterns of every group, sorted.
func Groups() map[string][]string { return sortedGroups() }

// sortedGroups is computed once, because every plan lists the patterns of its groups.
var sortedGroups = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, g := range groups {
		for _, k := range g.kinds {
			out[g.name] = append(out[g.name], patterns[k].name)
		}
		slices.Sort(out[g.name])
	}
	return out
})

// Describe returns the description of a pattern or a group, or an empty string for an unknown name.
func Describe(name string) string {
	for _, g := range groups {
		if g.name == name {
			return g.about
		}
	}
	k, ok := kindOf(name)
	if !ok {
		return ""
	}
	return patterns[k].about
}

// Expand replaces groups with their patterns. The result is sorted and without duplicates. The error names every unknown group and
// pattern.
func Expand(groupNames, patternNames []string) ([]string, error) {
	var errs []error
	known := Groups()
	names := slices.Clone(patternNames)
	for _, name := range groupNames {
		if len(known[name]) == 0 {
			errs = append(errs, fmt.Errorf("unknown masking group %q", name))
		}
		names = append(names, known[name]...)
	}
	for _, name := range patternNames {
		if _, ok := kindOf(name); !ok {
			errs = append(errs, fmt.Errorf("unknown masking pattern %q", name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// marker returns the text that replaces a secret of the kind.
func (k kind) marker() string { return markers[k] }

var markers = func() (all [kinds]string) {
	for k, p := range patterns {
		all[k] = markerStart + "_" + strings.ToUpper(p.name) + "]"
	}
	return all
}()

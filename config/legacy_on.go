//go:build geminilegacy

package config

// legacyLinked: this build has the driver generative-ai-go.
const legacyLinked = true

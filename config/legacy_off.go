//go:build !geminilegacy

package config

// legacyLinked: this build has no driver generative-ai-go.
const legacyLinked = false

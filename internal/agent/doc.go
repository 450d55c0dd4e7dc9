// Package agent is the vocabulary that every other package shares: the type
// table, messages, and the plan that a chain resolves to. It uses the standard
// library only and does nothing.
package agent

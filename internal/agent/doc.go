// Package agent is the vocabulary that every other package shares: the type
// table, roles and messages, statuses, requests. It uses the standard
// library only and does nothing.
package agent

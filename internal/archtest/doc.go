// Package archtest holds the tests of the architecture: who may import whom,
// and what every file keeps to (docs/explanation/architecture.md). It has no code of its own.
package archtest

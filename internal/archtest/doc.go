// Package archtest holds the tests of the architecture: which package may import which, and the rules for every
// file (docs/explanation/architecture.md). It contains only tests.
package archtest

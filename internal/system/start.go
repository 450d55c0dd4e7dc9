package system

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Start describes an investigation to start.
type Start struct {
	// Workflow is the workflow ID. An empty string means the name of the chain or alert type with a random suffix.
	Workflow string
	Request  agent.Request // without its data
	// Data is the data to investigate. Masking says which parts may leave this process (nil means all), MaxData limits the size in bytes
	// (zero means unlimited), and Dedup says how to detect duplicates in Chain. They come from the configuration. The workers
	// apply theirs again.
	Data    string
	Masking *plan.Masking
	Masker  *mask.Masker // compiled form of Masking; nil means that Start compiles it
	MaxData int
	Chain   string
	Dedup   plan.Dedup
	// Once is a hash of the request. A workflow ID is then used only once: the same request gets the existing investigation
	// (Handle.Known), a different one gets ErrReused. An empty string means that an ID may be reused.
	Once string
}

// Know sets the fields of the request that come from a configuration.
func (s *Start) Know(cfg Configuration) {
	s.Masking, s.MaxData = cfg.AlertMasking(), cfg.MaxData()
	s.Chain, s.Dedup = cfg.Dedup(s.Request)
}

// Configuration is the part of a configuration that is needed to start an investigation.
type Configuration interface {
	AlertMasking() *plan.Masking
	MaxData() int
	Dedup(req agent.Request) (chain string, d plan.Dedup)
}

// RandomID returns a readable workflow ID: a name and 8 random characters.
func RandomID(name string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return IDOf(name) + "-" + hex.EncodeToString(random[:])
}

// IDOf converts a name into a part of a workflow ID.
func IDOf(name string) string { return strings.Map(idRune, name) }

// idRune keeps the characters that need no quoting in shells and URLs.
func idRune(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
		return r
	}
	return '-'
}

// Package audit is who decided what: acts of people, and of the system on their word, in chains of hashes that show
// whether a row was changed, taken out or put in later (ADR 20).
package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"time"
)

// What says what an act is.
type What string

// The acts. Text of the acts of people is masked before it gets here.
const (
	Started  What = "started"  // an investigation, by whom
	Reset    What = "reset"    // Temporal was reset: another run goes on with it
	Ended    What = "ended"    // with which status and reason
	Asked    What = "asked"    // people were asked: to approve a call, a question, about a bound
	Decided  What = "decided"  // a call was approved, denied or edited
	Began    What = "began"    // a call that was decided is about to be made
	Executed What = "executed" // what came of it
	Answered What = "answered" // a question
	Extended What = "extended" // bounds
	Guided   What = "guided"   // words to agents
	Paused   What = "paused"
	Resumed  What = "resumed"
	// Concluded: somebody told agents to finish with what they know; Cancelled: to stop at once.
	Concluded What = "concluded"
	Cancelled What = "cancelled"
	Slept     What = "heartbeats-paused"
	Woken     What = "heartbeats-resumed"
	// Rules that let calls pass without a person.
	RuleAdded   What = "rule-added"
	RuleUsed    What = "rule-used"
	RuleRevoked What = "rule-revoked"
	// Agents that are made at run time.
	AgentMade    What = "agent-made"
	AgentChanged What = "agent-changed"
	AgentDeleted What = "agent-deleted"
	// What people do to what agents remember.
	MemoryChanged What = "memory-changed"
)

// Act is one row.
type Act struct {
	// Investigation, or the conversation's id, is the chain that the row is in; "" = the store's own, with what concerns
	// no single investigation.
	Investigation string    `json:"investigation,omitempty"`
	N             int64     `json:"n"` // counts the rows of the chain, from 1; the store sets it
	At            time.Time `json:"at"`
	What          What      `json:"what"`
	// Who did it, as far as Channel (cli, api, temporal …) has checked; "" = nobody: a time was up, or a rule.
	Who     string `json:"who,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Execution and Call say which tool call, or Call alone which question, rule or agent.
	Execution string `json:"execution,omitempty"`
	Call      string `json:"call,omitempty"`
	Tool      string `json:"tool,omitempty"`
	// Detail is a JSON object of texts: see Detail.
	Detail json.RawMessage `json:"detail,omitempty"`
	// Key makes an act that is told twice one row of its chain; "" = each is a row.
	Key  string `json:"key,omitempty"`
	Hash string `json:"hash"` // the store sets it
}

// Detail is the JSON object of names and texts, without those that are empty.
func Detail(pairs ...string) json.RawMessage {
	out := map[string]string{}
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			out[pairs[n]] = pairs[n+1]
		}
	}
	text, _ := json.Marshal(out) // texts can be written
	return text
}

// Sum is the hash of the row that comes after the one whose hash is before. All columns count.
func (a Act) Sum(before string) string {
	return sum(before, number(a.N), number(a.At.UnixMicro()), a.Investigation, string(a.What), a.Who, a.Channel,
		a.Execution, a.Call, a.Tool, string(a.Detail), a.Key)
}

// Mark is how far a chain had come when it was anchored: its last row, and that row's hash.
type Mark struct {
	Investigation string `json:"i,omitempty"`
	N             int64  `json:"n"`
	Hash          string `json:"h"`
}

// Anchor is a row of the chain over chains: the ends of those that have grown since the anchor before it.
type Anchor struct {
	N     int64
	At    time.Time
	Marks json.RawMessage // JSON of []Mark
	Hash  string
}

// Sum is the hash of the anchor that comes after the one whose hash is before.
func (a Anchor) Sum(before string) string {
	return sum(before, number(a.N), number(a.At.UnixMicro()), string(a.Marks))
}

// sum hashes texts so that no two lists of them are the same bytes.
func sum(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func number(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

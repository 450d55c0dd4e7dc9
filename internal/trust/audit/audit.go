// Package audit records who decided what: acts of people, and acts of the system on their behalf. The acts form hash chains that
// reveal whether a row was later changed, removed or inserted (ADR 20).
package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"time"
)

// What is the kind of an act.
type What string

// The acts. Texts of people's acts are masked before they get here.
const (
	Started  What = "started"  // an investigation, and by whom
	Reset    What = "reset"    // Temporal was reset and another run continues
	Ended    What = "ended"    // with which status and reason
	Asked    What = "asked"    // people were asked for an approval, an answer, or about a bound
	Decided  What = "decided"  // a call was approved, denied or edited
	Began    What = "began"    // a call that was decided on is about to be made
	Executed What = "executed" // the outcome of the call
	Answered What = "answered" // a question
	Extended What = "extended" // bounds
	Guided   What = "guided"   // a message to agents
	Paused   What = "paused"
	Resumed  What = "resumed"
	// Concluded means that agents were told to finish with their current knowledge; Cancelled, to stop at once.
	Concluded What = "concluded"
	Cancelled What = "cancelled"
	Slept     What = "heartbeats-paused"
	Woken     What = "heartbeats-resumed"
	// Rules that let calls through without a person's approval.
	RuleAdded   What = "rule-added"
	RuleUsed    What = "rule-used"
	RuleRevoked What = "rule-revoked"
	// Agents that are created at run time.
	AgentMade    What = "agent-made"
	AgentChanged What = "agent-changed"
	AgentDeleted What = "agent-deleted"
	// People's changes of agents' memories.
	MemoryChanged What = "memory-changed"
	// People's changes of learnings.
	LearningChanged   What = "learning-changed"
	LearningDeleted   What = "learning-deleted"
	LearningWithdrawn What = "learning-withdrawn"
	// Refused is a request of a person who does not have the right to it.
	Refused What = "refused"
	// LearningJudged means that the judgements of another investigation no longer count for a learning, or count again.
	LearningJudged What = "learning-judged"
	Rated          What = "rated"          // an investigation
	Forked         What = "forked"         // into another investigation
	ReviewChanged  What = "review-changed" // claimed, released, acknowledged or reopened
	// ScheduleChanged is a change of a schedule: created, paused, resumed, run or deleted.
	ScheduleChanged What = "schedule-changed"

	ThreadDeleted What = "conversation-deleted"
)

// Act is one row.
type Act struct {
	// Investigation is the ID of the investigation or conversation in whose chain the row is. Empty means the store's own chain,
	// for acts that concern no single investigation.
	Investigation string    `json:"investigation,omitempty"`
	N             int64     `json:"n"` // position in the chain, from 1; set by the store
	At            time.Time `json:"at"`
	What          What      `json:"what"`
	// Who is the actor, as far as Channel (cli, api, temporal …) has verified it. Empty means no person: a timeout or a rule.
	Who     string `json:"who,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Execution and Call identify a tool call. Call alone identifies a question, rule or agent.
	Execution string `json:"execution,omitempty"`
	Call      string `json:"call,omitempty"`
	Tool      string `json:"tool,omitempty"`
	// Detail is a JSON object of strings: see Detail.
	Detail json.RawMessage `json:"detail,omitempty"`
	// Key makes repeated reports of an act one row of its chain. Empty means that each report is a row.
	Key  string `json:"key,omitempty"`
	Hash string `json:"hash"` // set by the store
}

// Detail returns the JSON object of names and texts, without the empty ones.
func Detail(pairs ...string) json.RawMessage {
	out := map[string]string{}
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			out[pairs[n]] = pairs[n+1]
		}
	}
	text, _ := json.Marshal(out) // strings can always be encoded
	return text
}

// Sum returns the hash of a row. before is the hash of the previous row. All columns are included.
func (a Act) Sum(before string) string {
	return sum(before, number(a.N), number(a.At.UnixMicro()), a.Investigation, string(a.What), a.Who, a.Channel,
		a.Execution, a.Call, a.Tool, string(a.Detail), a.Key)
}

// Mark is the end of a chain when it was anchored: its last row, and that row's hash.
type Mark struct {
	Investigation string `json:"i,omitempty"`
	N             int64  `json:"n"`
	Hash          string `json:"h"`
}

// Anchor is a row of the chain over chains. It marks the ends of the chains that have grown since the previous anchor.
type Anchor struct {
	N     int64
	At    time.Time
	Marks json.RawMessage // JSON of []Mark
	Hash  string
}

// Sum returns the hash of an anchor. before is the hash of the previous anchor.
func (a Anchor) Sum(before string) string {
	return sum(before, number(a.N), number(a.At.UnixMicro()), string(a.Marks))
}

// sum hashes texts with their lengths, so that different lists have different input bytes.
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

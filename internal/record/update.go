package record

import (
	"time"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// Update holds the changes since the previous update; the first one holds the current state. Unchanged parts are nil.
type Update struct {
	// Entries holds the new entries, by Seq. An entry that is superseded after it was delivered (or after the cursor that Follow
	// was given) is repeated, with Superseded set. The cursor to continue from is the highest Seq so far.
	Entries []transcript.Entry
	// Live holds all live tails. It is empty and not nil after the last one ended.
	Live []transcript.Live
	// Record, Stages and Executions are the complete current records.
	Record     *Investigation
	Stages     []Stage
	Executions []Execution
	// About is a line about the subject of the investigation. The store leaves it empty for the caller to fill in.
	About string
	// Waits lists the people and providers that the investigation is waiting for. It is set whenever the records are.
	Waits *Waits
	// More means that further entries existed when the records were read.
	More bool
	// Away is since when the database has been unavailable. Such an update holds nothing else except More, because further entries
	// may exist. The next update, which may be empty, says that the database answers again.
	Away time.Time
}

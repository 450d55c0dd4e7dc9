package plan

import "github.com/inquest-dev/inquest/value"

// Duration is a time.Duration that is written as text ("90s") in JSON.
type Duration = value.Duration

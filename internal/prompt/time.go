package prompt

import (
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
)

// nearDays is how far away holidays are named, in days: an alert after a holiday may be about something that happened during it.
const nearDays = 7

// Time returns the end of an agent's first message, which says when the agent begins, with the holidays near it. For a conversation, it
// is the end of the system prompt.
func Time(p plan.Plan, at time.Time) string {
	c, begins, end := p.Calendar, "You begin", ".\n"
	if p.Conversation {
		begins, end = "This conversation began", ". Messages may arrive days later, so do not assume that this is still the current time.\n"
	}
	at = c.In(at)
	out := fmt.Sprintf("# Time\n%s on %s", begins, at.Format("Monday 2006-01-02 at 15:04"))
	if zone := at.Location().String(); zone == "UTC" {
		out += " UTC"
	} else {
		out += fmt.Sprintf(" in %s (UTC%s), which is %s UTC", zone, at.Format("-07:00"), at.UTC().Format("2006-01-02 15:04"))
	}
	if state := c.State(at); state != "" {
		out += ": " + state
	}
	var near []string
	for n := -nearDays; n <= nearDays; n++ {
		day := at.AddDate(0, 0, n)
		for _, h := range c.Holidays {
			if h.On(day) {
				near = append(near, fmt.Sprintf("%s on %s", line(h.Name), day.Format("Monday 2006-01-02")))
			}
		}
	}
	if len(near) > 0 {
		out += ". Holidays around this date: " + strings.Join(near, ", ")
	}
	return out + end
}

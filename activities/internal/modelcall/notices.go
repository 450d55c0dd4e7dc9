package modelcall

import (
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// addRecovered announces servers that have listed their tools since the transcript called them unavailable.
func (g *generation) addRecovered(stored []transcript.Entry) {
	for _, c := range g.Listed {
		if c.Error != "" {
			continue
		}
		there := prompt.ServerAvailable(c.Server)
		for _, e := range slices.Backward(stored) {
			if e.Kind == transcript.KindUser && e.Text == there {
				break
			}
			if e.Kind == transcript.KindNotice && strings.HasPrefix(e.Text, job.NotAvailable(c.Server)) {
				g.add(transcript.KindUser, transcript.Body{Text: there})
				break
			}
		}
	}
}

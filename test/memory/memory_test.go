package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/scripted"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/sample/actor"
)

// TestMain lets the test's program be the MCP server of the sample and the keeper of shell commands, as the command is.
func TestMain(m *testing.M) {
	for _, cmd := range []string{app.SampleCommand().Name(), app.KeeperCommand().Name()} {
		if len(os.Args) > 1 && os.Args[1] == cmd {
			main()
		}
	}
	os.Exit(m.Run())
}

const lesson = "When checkout is slow, DB_POOL_MAX of inventory is too small."

var replyRow = regexp.MustCompile(`\[row (\d+), iteration \d+\] reply`)

// forgetful plays the sample's agents, but its log agent looks nowhere if it knows the lesson, and its last agent knows the cause only
// from the lesson.
func forgetful(req llm.Request) llm.Response {
	instructions, task := req.Messages[0].Content, req.Messages[len(req.Messages)-1].Content
	say := func(text string) llm.Response { return llm.Response{Content: text, Finish: llm.FinishStop} }
	knows := strings.Contains(instructions, lesson)
	switch who := prompt.AgentOf(instructions); {
	case who == "ScoringAgent" && task == prompt.MissingTools:
		return say("None.")
	case who == "ScoringAgent":
		return say("It is clear.\n60")
	case who == "ReflectorAgent":
		row := replyRow.FindStringSubmatch(task)
		if row == nil || strings.Contains(task, lesson) {
			return say(`{"new":[],"confirmed":[],"contradicted":[]}`)
		}
		return say(fmt.Sprintf(`{"new":[{"kind":"semantic","polarity":"neutral","text":%q,"rows":[%s]}],"confirmed":[],"contradicted":[]}`,
			lesson, row[1]))
	case who == "LogAgent" && knows:
		return say("Known: " + lesson)
	case who == "RecommendAgent" && knows:
		return say("The cause: " + lesson)
	case who == "RecommendAgent":
		return say("The cause is unknown.")
	}
	return actor.Model(req)
}

// A model that needs memory is right, and needs fewer calls, only with memory. Only the system with memory gives it learnings.
func TestCompare(t *testing.T) {
	t.Parallel()
	o := options{
		alert: incident{alertType: "sample-incident", data: string(sample.Alert()), right: regexp.MustCompile(sampleCause)}, rounds: 2,
		models:   map[string]llm.Client{"scripted:sample": scripted.New("sample", forgetful, scripted.Options{})},
		progress: t.Output(),
	}
	out, err := compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a, b := out.without, out.with
	if a.Right || !b.Right || a.Learnings != 0 || b.Learnings != 1 || a.Score == nil || b.Score == nil || *a.Score != 60 {
		t.Errorf("without %+v, with %+v", a, b)
	}
	if a.ToolCalls == 0 || b.ToolCalls >= a.ToolCalls || b.Iterations >= a.Iterations || b.Tokens == a.Tokens {
		t.Errorf("without %+v, with %+v", a, b)
	}
	var text strings.Builder
	if err := out.print(&text); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`(?m)^conclusion +wrong +right\s*$(.|\n)*^tool calls +%d +%d +-%d$`, a.ToolCalls, b.ToolCalls, a.ToolCalls-b.ToolCalls)
	if !regexp.MustCompile(want).MatchString(text.String()) {
		t.Errorf("%s", &text)
	}
}

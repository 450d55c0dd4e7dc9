package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// slackConfig lets Ada decide in one channel. Her investigations make one call that needs approval.
const slackConfig = gatedConfig + `
system:
  slack:
    channels: {C0000000001: {chain: lab}}
    users: {U0123456789: {name: ada, role: approver}}
`

// slackAda is Ada's ID in Slack.
const slackAda = "U0123456789"

// slackTokens must not appear in any output or file.
var slackTokens = []string{"xoxb-e2e-never-to-be-seen", "xapp-e2e-never-to-be-seen"}

// TestSlackKills kills the worker again and again while people start investigations in 20 threads of Slack, approve or deny their
// calls there, and claim the reviews. Each thread ends with one status message, one report, one message about its call and one about the
// review, and each decision has been carried out once.
func TestSlackKills(t *testing.T) {
	t.Parallel()
	const threads, channel = 20, "C0000000001"
	slack := workspacetest.New(t)
	of := regexp.MustCompile(`case-(\d\d)`)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		text, _ := json.Marshal(req.Messages)
		number := of.FindSubmatch(text)[1]
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "lab__counter", Args: fmt.Sprintf(`{"file":"made-%s"}`, number)})
		}
		return llmtest.Text(fmt.Sprintf("The cause of number %s is the pool.", number))
	}, slackConfig)
	w.dev("--no-worker")
	w = w.with("SLACK_BOT_TOKEN="+slackTokens[0], "SLACK_APP_TOKEN="+slackTokens[1], "INQUEST_SLACK_API="+slack.GetAPIURL())

	var people sync.WaitGroup
	ended := make(chan struct{})
	started := make([]string, threads) // the first message of each thread
	for n := range threads {
		people.Go(func() {
			started[n] = slack.Say(channel, "", slackAda, fmt.Sprintf("<@%s> investigate case-%02d", workspacetest.Bot, n))
			call := slackMessage(slack, started[n], func(m workspacetest.Message) bool { return workspacetest.Buttons(m)["approve"] != nil })
			if n%2 == 0 {
				slack.Press(slackAda, call, "approve")
			} else {
				deny(slack, call)
			}
			report := slackMessage(slack, started[n], func(m workspacetest.Message) bool { return strings.Contains(slackText(m), "is the pool") })
			slack.Press(slackAda, report, "review-claim")
			slackMessage(slack, started[n], func(m workspacetest.Message) bool { return strings.Contains(slackText(m), "is reviewing this") })
		})
	}
	go func() {
		people.Wait()
		close(ended)
	}()
	logs := killWhile(w, slack, ended)
	worker := w.worker("--slack")
	st := w.open()
	slack.Until("no thread is open", func() bool { open, err := st.ChatThreads(t.Context()); return err == nil && len(open) == 0 })

	for n, thread := range started {
		var texts []string
		reports := 0
		for _, m := range slack.Messages(thread) {
			if strings.Contains(m.Text, "Nothing was done") {
				t.Errorf("thread %d was told something untrue: %s", n, m.Text)
			}
			if m.User == workspacetest.Bot && m.Private == "" {
				texts = append(texts, slackText(m))
				if strings.Contains(slackText(m), "is the pool") {
					reports++
				}
			}
		}
		if len(texts) != 4 || reports != 1 {
			t.Errorf("thread %d has %d messages with %d reports: %q", n, len(texts), reports, texts)
		}
		made, _ := os.ReadFile(filepath.Join(w.data, fmt.Sprintf("made-%02d", n)))
		if got, want := strings.Count(string(made), "\n"), 1-n%2; got != want {
			t.Errorf("thread %d: %d calls were made, want %d", n, got, want)
		}
	}
	claimed, err := st.Investigations(t.Context(), store.Filter{Review: record.InReview})
	if err != nil || len(claimed) != threads {
		t.Errorf("%d of %d reviews are claimed, %v", len(claimed), threads, err)
	}
	if code := worker.terminate(); code != 0 {
		t.Errorf("the worker ends with exit code %d:\n%s", code, worker.log)
	}
	files, err := filepath.Glob(filepath.Join(w.data, "inquest.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no store: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, string(body))
	}
	for _, token := range slackTokens {
		if strings.Contains(strings.Join(append(logs, worker.log.String()), ""), token) {
			t.Errorf("the token %s… is in a log or in the store", token[:8])
		}
	}
}

// TestDemoInSlack runs the demo with a workspace: one thread with one status message and one report. Then Ada asks for another
// investigation in it.
func TestDemoInSlack(t *testing.T) {
	t.Parallel()
	const channel = "C0000000001"
	slack := workspacetest.New(t)
	w := newWorld(t, nil, `system:
  slack:
    channels: {C0000000001: {chain: sample}}
    users: {U0123456789: {name: ada, role: approver}}
`).without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	w = w.with("SLACK_BOT_TOKEN="+slackTokens[0], "SLACK_APP_TOKEN="+slackTokens[1], "INQUEST_SLACK_API="+slack.GetAPIURL())
	demo := w.start("\nTo stop, press Ctrl-C.", "dev", "demo", "--slack", "--keep", "--config", w.config, "--data", w.data)
	root := slackMessage(slack, "", func(m workspacetest.Message) bool { return strings.Contains(m.Text, "has started") })
	texts := func(thread string) (all []string) {
		for _, m := range slack.Messages(thread) {
			if m.User == workspacetest.Bot {
				all = append(all, slackText(m))
			}
		}
		return all
	}
	if all := texts(root.Timestamp); len(all) != 3 || !strings.Contains(all[1], "completed") || !strings.Contains(all[2], "DB_POOL_MAX") {
		t.Errorf("the thread has %q", all)
	}
	if out, errs, code := w.program("sh", "", "-ec", hints(t, demo)); code != 0 || !strings.Contains(out, "DB_POOL_MAX") {
		t.Errorf("the commands that the demo prints: exit code %d:\n%s%s", code, out, errs)
	}
	asked := slack.Say(channel, "", slackAda, "<@"+workspacetest.Bot+"> checkout is slow")
	slackMessage(slack, asked, func(m workspacetest.Message) bool { return strings.Contains(slackText(m), "DB_POOL_MAX") })
	if code := demo.terminate(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, demo.log)
	}
	if out := demo.log.String(); strings.Contains(out, slackTokens[0]) || strings.Contains(out, slackTokens[1]) {
		t.Error("a token is in the output")
	}
}

// killWhile kills the worker several times while people work: each time after some more messages. It returns the logs of the workers.
func killWhile(w *world, slack *workspacetest.Workspace, ended <-chan struct{}) (logs []string) {
	for target := 3; ; target += 9 {
		worker := w.worker("--slack")
		slack.Until("more messages, or the end", func() bool {
			select {
			case <-ended:
				return true
			default:
				return len(slack.Messages("")) >= target
			}
		})
		worker.kill()
		logs = append(logs, worker.log.String())
		select {
		case <-ended:
			w.t.Logf("the worker was killed %d times", len(logs))
			return logs
		default:
		}
	}
}

// slackMessage waits for a message of the bot in a thread.
func slackMessage(slack *workspacetest.Workspace, thread string, is func(workspacetest.Message) bool) (found workspacetest.Message) {
	slack.Until("a message in "+thread, func() bool {
		for _, m := range slack.Messages(thread) {
			if m.User == workspacetest.Bot && m.Private == "" && is(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// deny denies a call with a reason. A click is lost if the worker is killed before it opens the modal, and people click again.
func deny(slack *workspacetest.Workspace, call workspacetest.Message) {
	ours := func() int {
		for n, view := range slack.Views() {
			if strings.Contains(view.PrivateMetadata, call.ThreadTimestamp) {
				return n
			}
		}
		return -1
	}
	for ours() < 0 {
		slack.Press(slackAda, call, "deny")
	}
	slack.Submit(slackAda, "V"+call.Timestamp, slack.Views()[ours()], "not now")
}

// slackText returns the text and the blocks of a message.
func slackText(m workspacetest.Message) string {
	blocks, _ := json.Marshal(m.Blocks)
	return m.Text + string(blocks)
}

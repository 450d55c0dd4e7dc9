package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// later is the model of work that begins before and after an upgrade. Each has its own holds.
type later struct{ before, after upgrades }

func (l later) script(req llmtest.Request) llmtest.Reply {
	if onThisBuild.MatchString(wholeText(req)) {
		return l.after.script(req)
	}
	return l.before.script(req)
}

// TestRollbackInPlace upgrades with every kind of work in flight, begins more on this build, and returns to the previous release
// on the same data. Work that has recorded no change of workflows completes there. Decisions and messages that only this build can
// take wait for the next upgrade.
func TestRollbackInPlace(t *testing.T) {
	t.Parallel()
	l := later{newUpgrades(), newUpgrades()}
	u := newUpgrade(t, l.before, l.script)
	dev := u.previous.dev()
	question := u.startEverything("old-")
	u.start("old-approval-on-new", "approval", "x")
	u.waitsFor("old-approval-on-new", "lab.set")
	u.stop(dev)

	dev = u.dev()
	u.must("decide", "old-approval-on-new", "c1_0", "--approve", "--by", "Ada")
	u.remembers(u.world, "old-thread", 2)
	newQuestion := u.startOnNew(l.after)
	u.completes("old-approval-on-new")
	u.stop(dev)

	dev = u.previous.dev()
	u.finish(u.previous, "old-", question)
	l.after.release()
	u.previous.must("answer", "new-question", newQuestion, "--text", "checkout", "--by", "Ada")
	eventually(t, "it is paused", func() bool { return strings.Contains(u.previous.must("status", "new-paused"), "paused") })
	u.previous.must("resume", "new-paused")
	u.signal(u.ids["new-asleep"]+"/dig/Sleeper", workflows.SignalResumeHeartbeats, nil)
	u.remembers(u.previous, "old-thread", 3)
	u.remembers(u.previous, "new-thread", 2)
	for workflowID := range u.ids {
		if workflowID != "new-approval" { // its agent has tool servers, so it has recorded a change
			u.completes(workflowID)
		}
	}
	u.scored("old-scored")
	u.scored("new-scored")
	const decision = "the decision about dig/Clerk/c1_0"
	u.previous.mustFail(1, decision, "decide", "new-approval", "c1_0", "--approve", "--by", "Ada")
	u.mustFail(1, "no worker has accepted "+decision+" within ", "decide", "new-approval", "c1_0", "--approve", "--by", "Ada")
	asking := u.world.start("no worker can continue this conversation", "starter", "chat", "--thread", "new-tools", "--message", "again")
	u.stop(dev)

	u.dev()
	back := time.Now()
	eventually(t, "the decision is taken", func() bool { // once Temporal gives up the last attempt of the older worker
		_, _, code := u.starter("", "decide", "new-approval", "c1_0", "--approve", "--by", "Ada")
		return code == 0
	})
	t.Logf("the decision was taken after %s", time.Since(back).Round(time.Second))
	u.completes("new-approval")
	if code := asking.wait(); code != 0 || strings.Count(asking.log.String(), "Counter is done") != 1 {
		t.Errorf("the message that waited: exit code %d\n%s", code, asking.log)
	}
	if n := u.effects(); n != 4 {
		t.Errorf("the counter was called %d times, want 4", n)
	}
	if n := u.linesOf("set"); n != 3 {
		t.Errorf("the approved tool was called %d times, want 3", n)
	}
}

// startOnNew starts on this build the kinds of work that the previous release can continue, and two that it cannot, because their
// agents have tool servers: an approval and a conversation.
func (u *upgrade) startOnNew(held upgrades) (question string) {
	u.t.Helper()
	const data = "begun on this build"
	for _, chain := range []string{"scored", "question", "children", "asleep", "finished", "approval"} {
		u.start("new-"+chain, chain, data)
	}
	u.send("Talker", "new-thread", "remember")
	u.send("Counter", "new-tools", "hello")
	held.scored.Wait(u.t)
	held.children.Wait(u.t)
	u.start("new-paused", "children", data)
	u.must("pause", "new-paused")
	u.completes("new-finished")
	u.waitsFor("new-approval", "lab.set")
	u.sleepsUntil(u.ids["new-asleep"] + "/dig/Sleeper")
	return u.question("new-question", "")
}

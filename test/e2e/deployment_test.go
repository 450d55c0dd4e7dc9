package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/workflows"
)

// deployment is a world whose workers are versions of a worker deployment: "one" is the previous release, "two" this build.
type deployment struct {
	*world
	handle client.WorkerDeploymentHandle
}

// route makes one version current and sends a share of new investigations to another one, and waits until all task queues
// know. Temporal knows a version once it has polled. RoutingConfigUpdateState would be shorter, but on a busy machine it has
// stayed at "in progress" for minutes.
func (d deployment) route(current, ramping string, percentage float32) {
	d.t.Helper()
	var err error
	eventually(d.t, "Temporal knows the versions", func() bool {
		ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second)
		defer cancel()
		_, err = d.handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: current})
		if err == nil && ramping != "" {
			_, err = d.handle.SetRampingVersion(ctx, client.WorkerDeploymentSetRampingVersionOptions{BuildID: ramping, Percentage: percentage})
		}
		return err == nil
	})
	eventually(d.t, "Temporal has told the task queues", func() bool {
		for _, queue := range d.queuesOf(current) {
			described, err := d.client().WorkflowService().DescribeTaskQueue(d.t.Context(), &workflowservice.DescribeTaskQueueRequest{
				Namespace: client.DefaultNamespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW})
			if err != nil {
				d.t.Fatal(err)
			}
			info := described.GetVersioningInfo()
			if info.GetCurrentDeploymentVersion().GetBuildId() != current || info.GetRampingDeploymentVersion().GetBuildId() != ramping ||
				info.GetRampingVersionPercentage() != percentage {
				return false
			}
		}
		return true
	})
}

// queuesOf returns the task queues that the workers of a version poll for workflows.
func (d deployment) queuesOf(version string) (names []string) {
	d.t.Helper()
	described, err := d.client().WorkflowService().DescribeWorkerDeploymentVersion(d.t.Context(),
		&workflowservice.DescribeWorkerDeploymentVersionRequest{Namespace: client.DefaultNamespace,
			DeploymentVersion: &deploymentpb.WorkerDeploymentVersion{DeploymentName: app.DeploymentName, BuildId: version}})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, queue := range described.GetVersionTaskQueues() {
		if queue.GetType() == enums.TASK_QUEUE_TYPE_WORKFLOW {
			names = append(names, queue.GetName())
		}
	}
	if len(names) == 0 {
		d.t.Fatalf("version %s has no task queue for workflows", version)
	}
	return names
}

// versionOf returns the version of a workflow.
func (d deployment) versionOf(workflowID string) string {
	d.t.Helper()
	described, err := d.client().DescribeWorkflowExecution(d.t.Context(), workflowID, "")
	if err != nil {
		d.t.Fatal(err)
	}
	return described.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

// completesOn starts investigations and returns how many of them completed on each version, with all their children.
func (d deployment) completesOn(name string, n int) map[string]int {
	d.t.Helper()
	on := map[string]int{}
	for i := range n {
		d.beginWith(fmt.Sprintf("%s-%d", name, i), agent.Request{Chain: "finished", Data: []byte(`"x"`)})
	}
	for i := range n {
		id := fmt.Sprintf("%s-%d", name, i)
		result := d.end(id)
		if result.Status != agent.StatusCompleted {
			d.t.Errorf("%s: %+v", id, result)
		}
		on[d.wholly(id, result.ID, "dig", "dig/Joiner")]++
	}
	return on
}

// wholly returns the version of an investigation, which must also be that of its children.
func (d deployment) wholly(workflowID, id string, children ...string) string {
	d.t.Helper()
	version := d.versionOf(workflowID)
	for _, child := range children {
		if got := d.versionOf(id + "/" + child); got != version {
			d.t.Errorf("%s runs on version %q, and its child %s on %q", workflowID, version, child, got)
		}
	}
	return version
}

func (d deployment) expect(what string, got map[string]int, version string, n int) {
	d.t.Helper()
	if len(got) != 1 || got[version] != n {
		d.t.Errorf("%s: investigations ran on %v, want %d on %s", what, got, n, version)
	}
}

// says holds a turn of the conversation and expects it on a version.
func (d deployment) says(version string) {
	d.t.Helper()
	if reply := d.send("Talker", "thread", "hello"); reply.Text != "Talker is done" {
		d.t.Errorf("the conversation continues with %q", reply.Text)
	}
	if got := d.versionOf("thread"); got != version {
		d.t.Errorf("the conversation is on version %q, want %q", got, version)
	}
	if last := wholeText(d.lastRequestOf("Talker")); !strings.Contains(last, "the pool is small") {
		d.t.Errorf("the agent has lost its memory:\n%s", last)
	}
}

// drained waits until Temporal reports that a version has no open investigations, which takes it several minutes.
func (d deployment) drained(version string) {
	d.t.Helper()
	for deadline := time.Now().Add(20 * time.Minute); ; time.Sleep(time.Second) {
		described, err := d.handle.Describe(d.t.Context(), client.WorkerDeploymentDescribeOptions{})
		if err != nil {
			d.t.Fatal(err)
		}
		for _, v := range described.Info.VersionSummaries {
			if v.Version.BuildID == version && v.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained {
				return
			}
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("version %s is not drained: %+v", version, described.Info.VersionSummaries)
		}
	}
}

// TestDeploymentVersions promotes, ramps and rolls back a worker version on a real server. Investigations stay on the version
// that they started on, and conversations move to the current one.
func TestDeploymentVersions(t *testing.T) {
	t.Parallel()
	u := newUpgrades()
	w := newWorld(t, u.script, upgradeConfig)
	previous := w.ofPreviousRelease()
	w.dev("--no-worker")
	d := deployment{w, w.client().WorkerDeploymentClient().GetHandle(app.DeploymentName)}

	one := previous.worker("--deployment-version", "one")
	d.route("one", "", 0)
	run := w.beginWith("pinned", agent.Request{Chain: "model", Data: []byte(`"held by its model"`)})
	pinned := workflows.InvestigationID("pinned", run.GetRunID())
	u.model.Wait(t)
	w.send("Talker", "thread", "remember")

	two := w.worker("--deployment-version", "two")
	d.expect("before two is promoted", d.completesOn("unpromoted", 1), "one", 1)
	d.route("one", "two", 100)
	d.expect("ramped to 100 %", d.completesOn("all", 2), "two", 2)
	d.route("one", "two", 50)
	if shares := d.completesOn("half", 16); shares["one"] == 0 || shares["two"] == 0 || shares["one"]+shares["two"] != 16 {
		t.Errorf("ramped to 50 %%: investigations ran on %v", shares)
	}
	d.route("one", "two", 0)
	d.expect("rolled back while ramping", d.completesOn("none", 2), "one", 2)
	d.says("one")
	d.route("two", "", 0)
	d.expect("promoted", d.completesOn("promoted", 2), "two", 2)
	d.says("two")
	d.route("one", "", 0)
	d.expect("rolled back after the promotion", d.completesOn("back", 2), "one", 2)
	d.says("one")
	d.route("two", "", 0)
	d.says("two")

	u.model.Release()
	if result := w.end("pinned"); result.Status != agent.StatusCompleted {
		t.Errorf("the pinned investigation: %+v", result)
	}
	if got := d.wholly("pinned", pinned, "dig", "dig/Counter", "dig/Joiner", "dig/SynthesisAgent", "tell", "tell/Joiner"); got != "one" {
		t.Errorf("the pinned investigation ended on version %q, want one", got)
	}
	w.saidOnce(pinned)
	w.calledOnce(pinned)
	if n := w.effects(); n != 1 {
		t.Errorf("the counter was called %d times, want 1", n)
	}
	if *long {
		d.drained("one")
	}
	if code := one.terminate(); code != 0 {
		t.Errorf("version one ends with exit code %d:\n%s", code, one.log)
	}
	d.says("two")
	d.expect("without version one", d.completesOn("alone", 2), "two", 2)
	if checked := w.must("version", "--check"); !strings.Contains(checked, "version two: current") ||
		!strings.Contains(checked, "version one: drain") {
		t.Errorf("the check of the versions says:\n%s", checked)
	}
	if code := two.terminate(); code != 0 {
		t.Errorf("version two ends with exit code %d:\n%s", code, two.log)
	}
}

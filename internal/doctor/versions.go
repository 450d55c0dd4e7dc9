package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// firstSchema is the schema of version 0.1, whose workers do not announce themselves.
const firstSchema = 26

// unannounced describes the program of a worker that has not announced itself.
const unannounced = "0.1"

// CheckVersions checks whether this program, the store, Temporal and the workers fit together, and changes nothing. It uses
// the fields Temporal, TaskQueue, Store and Patience.
func CheckVersions(ctx context.Context, e Examination) []Finding {
	e.Temporal.Namespace = cmp.Or(e.Temporal.Namespace, client.DefaultNamespace)
	e.Temporal.HostPort = cmp.Or(e.Temporal.HostPort, client.DefaultHostPort)
	v := versions{Examination: e, self: app.ThisProgram()}
	v.find(LevelOK, "this program", program(v.self)+fmt.Sprintf(": schema %d, plans up to version %d", v.self.Schema, v.self.Plan), "")
	storeCtx, cancel := context.WithTimeout(ctx, e.Patience)
	v.checkStore(storeCtx)
	cancel()
	ctx, cancel = context.WithTimeout(ctx, e.Patience)
	defer cancel()
	v.checkTemporal(ctx)
	return v.findings
}

type versions struct {
	Examination
	self     record.Worker
	health   store.Health
	read     bool // the store could be read
	findings []Finding
}

func (v *versions) find(level Level, what, found, remedy string) {
	v.findings = append(v.findings, Finding{level, what, found, remedy})
}

func program(w record.Worker) string {
	if w.Commit != "" {
		return fmt.Sprintf("inquest %s (commit %s)", w.Version, w.Commit)
	}
	return "inquest " + w.Version
}

func (v *versions) checkStore(ctx context.Context) {
	h, err := store.Examine(ctx, v.Store)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.find(LevelWarn, "store", fmt.Sprintf("no store at %s: the versions of the workers are unknown", v.Store), theirStore)
		return
	case err != nil:
		v.find(LevelFail, "store", err.Error(), theirStore)
		return
	}
	v.health, v.read = h, true
	found := fmt.Sprintf("schema %d; programs must support %d", h.Schema, h.Required)
	switch {
	case h.Required > h.Known:
		v.find(LevelFail, "store", found+fmt.Sprintf(", but this program supports only %d", h.Known), "install the workers' version")
	case h.Schema < h.Known:
		v.find(LevelOK, "store", found+"; the first worker of this version expands it", "")
	default:
		v.find(LevelOK, "store", found, "")
	}
}

func (v *versions) checkTemporal(ctx context.Context) {
	c, err := dial.Temporal(ctx, v.Temporal)
	if err != nil {
		v.find(LevelFail, "server", fmt.Sprintf("Temporal at %s cannot be used: %v", v.Temporal.HostPort, err),
			"go run ./dev, or export TEMPORAL_ADDRESS=HOST:PORT")
		return
	}
	defer c.Close()
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		v.find(LevelFail, "server", words(err), "starter doctor")
		return
	}
	namespace, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: v.Temporal.Namespace})
	switch able := namespace.GetNamespaceInfo().GetCapabilities(); {
	case err != nil:
		v.find(LevelFail, "server", words(err), "starter doctor")
		return
	case !able.GetSyncUpdate():
		v.find(LevelFail, "server", fmt.Sprintf("Temporal %s does not support workflow updates, which decisions and answers need",
			info.GetServerVersion()),
			"upgrade Temporal, or set frontend.enableUpdateWorkflowExecution to true")
	default:
		v.find(LevelOK, "server", "Temporal "+info.GetServerVersion(), "")
	}
	workers := v.checkWorkers(ctx, c)
	v.checkRunning(ctx, c, workers)
	v.checkDeployment(ctx, c)
}

// pollsWithin is the longest silence of a running worker: a poll takes at most a minute. Temporal keeps listing a stopped worker
// for the same time.
const pollsWithin = 75 * time.Second

// checkWorkers compares the workers that poll the task queue with the store.
func (v *versions) checkWorkers(ctx context.Context, c client.Client) (workers []record.Worker) {
	described, err := c.DescribeTaskQueue(ctx, v.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		v.find(LevelFail, "workers", words(err), "starter doctor")
		return nil
	}
	groups := map[string][]record.Worker{}
	seen := map[string]bool{}
	for _, p := range described.GetPollers() {
		if seen[p.GetIdentity()] || time.Since(p.GetLastAccessTime().AsTime()) > pollsWithin {
			continue
		}
		seen[p.GetIdentity()] = true
		w := v.worker(p)
		workers = append(workers, w)
		groups[program(w)] = append(groups[program(w)], w)
	}
	if len(workers) == 0 {
		v.find(LevelWarn, "workers", "no worker polls the task queue "+v.TaskQueue, "worker --config DIR --store STORE")
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		group, w := groups[name], groups[name][0]
		found := fmt.Sprintf("%s, %s: schema %d, plans up to version %d", terminal.Count(len(group), "worker"), name, w.Schema, w.Plan)
		switch {
		case v.read && w.Schema < v.health.Required:
			v.find(LevelFail, "workers", fmt.Sprintf("%s; the store requires schema %d", found, v.health.Required),
				"replace them: "+identities(group))
		case w.Version == unannounced && !v.read:
			v.find(LevelWarn, "workers", fmt.Sprintf("%s of unknown version (versions are in the store)",
				terminal.Count(len(group), "worker")), theirStore)
		case w.Schema > v.self.Schema || w.Plan > v.self.Plan:
			v.find(LevelWarn, "workers", found+": newer than this program", "install their version of starter")
		default:
			v.find(LevelOK, "workers", found, "")
		}
	}
	if len(groups) > 1 {
		v.find(LevelWarn, "workers", fmt.Sprintf("%d versions share the task queue: an upgrade is in progress", len(groups)),
			"docs/how-to/upgrade.md")
	}
	return workers
}

// worker returns a worker's announcement, or the known facts about workers that announce nothing.
func (v *versions) worker(p *taskqueuepb.PollerInfo) record.Worker {
	named := func(w record.Worker) bool { return w.Identity == p.GetIdentity() }
	if n := slices.IndexFunc(v.health.Workers, named); n >= 0 {
		return v.health.Workers[n]
	}
	return record.Worker{Identity: p.GetIdentity(), Version: unannounced, Schema: firstSchema, Plan: firstPlan}
}

// firstPlan is the newest plan version that version 0.1 knows.
const firstPlan = 4

func identities(workers []record.Worker) string {
	var names []string
	for _, w := range workers {
		names = append(names, w.Identity)
	}
	return strings.Join(names, ", ")
}

// maxChanged is the maximum number of running workflows to examine.
const maxChanged = 1000

// checkRunning looks for running workflows with a recorded change that some workers do not know. Such workflows wait for the other
// workers.
func (v *versions) checkRunning(ctx context.Context, c client.Client, workers []record.Worker) {
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: v.Temporal.Namespace, PageSize: maxChanged,
		Query: fmt.Sprintf(`ExecutionStatus = "Running" AND TaskQueue = %q AND TemporalChangeVersion IS NOT NULL`, v.TaskQueue),
	})
	if err != nil {
		v.find(LevelWarn, "running workflows", words(err), "")
		return
	}
	needed := map[string]int{}
	for _, execution := range listed.GetExecutions() {
		for _, change := range changesOf(execution.GetSearchAttributes()) {
			needed[change]++
		}
	}
	for _, change := range slices.Sorted(maps.Keys(needed)) {
		var without []record.Worker
		for _, w := range workers {
			if !slices.Contains(w.Changes, change) {
				without = append(without, w)
			}
		}
		found := fmt.Sprintf("%s recorded the change %s", terminal.Count(needed[change], "running workflow"), change)
		switch {
		case len(without) == 0:
			v.find(LevelOK, "running workflows", found, "")
		case len(without) == len(workers):
			v.find(LevelFail, "running workflows", found+"; no worker supports this change, so work that recorded it cannot continue",
				"start a worker of the version that supports it")
		default:
			v.find(LevelWarn, "running workflows", fmt.Sprintf("%s; workers that do not support it: %d of %d; the others run these workflows",
				found, len(without), len(workers)), "keep a worker of the newer version until these workflows have ended")
		}
	}
	if len(listed.GetNextPageToken()) > 0 {
		v.find(LevelWarn, "running workflows", fmt.Sprintf("only the first %d were checked", maxChanged), "")
	}
}

// changesOf returns the IDs of the changes that a workflow has recorded. The attribute contains each with a version.
func changesOf(attributes *commonpb.SearchAttributes) (ids []string) {
	var recorded []string
	payload := attributes.GetIndexedFields()["TemporalChangeVersion"]
	if payload == nil || converter.GetDefaultDataConverter().FromPayload(payload, &recorded) != nil {
		return nil
	}
	for _, change := range recorded {
		ids = append(ids, change[:max(strings.LastIndex(change, "-"), 0)])
	}
	return ids
}

// checkDeployment checks the versions of the worker deployment, if workers have one.
func (v *versions) checkDeployment(ctx context.Context, c client.Client) {
	described, err := c.WorkerDeploymentClient().GetHandle(app.DeploymentName).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return
	}
	if err != nil {
		v.find(LevelWarn, "deployment", words(err), "")
		return
	}
	routing := described.Info.RoutingConfig
	if routing.CurrentVersion == nil {
		v.find(LevelWarn, "deployment", "no version is current: versioned workers get no new investigations",
			"temporal worker deployment set-current-version --deployment-name "+app.DeploymentName+" --build-id VERSION")
	}
	for _, version := range described.Info.VersionSummaries {
		role := "gets no new investigations"
		switch {
		case routing.CurrentVersion != nil && version.Version == *routing.CurrentVersion:
			role = "current"
		case routing.RampingVersion != nil && version.Version == *routing.RampingVersion:
			role = fmt.Sprintf("ramping: %g%% of new investigations", routing.RampingVersionPercentage)
		case version.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDraining:
			role = "draining: keep its workers, because its investigations still run"
		case version.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained:
			role = "drained: its workers can be stopped"
		}
		v.find(LevelOK, "deployment", fmt.Sprintf("version %s: %s", version.Version.BuildID, role), "")
	}
}

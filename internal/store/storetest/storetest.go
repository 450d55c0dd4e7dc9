// Package storetest is the test suite that every implementation of the store passes.
package storetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Store is the interface under test.
type Store interface {
	Close() error
	ID() string
	Now(ctx context.Context) time.Time
	Join(ctx context.Context, id, name string, adopt bool) error
	Belongs(ctx context.Context, id, name string) error
	SaveProgramTools(ctx context.Context, specs []tool.Spec) error
	ProgramTools(ctx context.Context) ([]tool.Spec, error)

	Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error)
	LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error)
	LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error)
	Missing(ctx context.Context, investigation string, marks []transcript.Mark) ([]transcript.Mark, error)
	Check(ctx context.Context, investigation string) (store.Checked, error)
	Begun(ctx context.Context, scope transcript.Scope, call transcript.Key, reply int64) (bool, error)
	Share(ctx context.Context, sharing transcript.Sharing) error
	Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error)
	AppendReply(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error)
	Post(ctx context.Context, letter transcript.Letter, stages []string) error
	TakeMail(ctx context.Context, scope transcript.Scope) ([]transcript.Letter, error)
	Unread(ctx context.Context, investigation string) ([]transcript.Letter, error)
	Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error)
	Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error)
	Notices(ctx context.Context, investigation string, limit int) ([]transcript.Entry, error)
	UnknownCalls(ctx context.Context, investigation string) ([]transcript.UnknownCall, error)
	After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error)
	Part(ctx context.Context, p store.Part) ([]transcript.Entry, error)
	SetLive(ctx context.Context, live transcript.Live) error
	HasLive(ctx context.Context, live transcript.Live) (bool, error)
	Follow(ctx context.Context, investigation string, after int64, fn func(store.Update) error) error

	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	SaveCatalogue(ctx context.Context, scope transcript.Scope, catalogue tool.Catalogue) error
	Catalogues(ctx context.Context, scope transcript.Scope) (hashes []string, err error)
	LastOffer(ctx context.Context, server string) (tool.Catalogue, error)
	ToolTimes(ctx context.Context, name string) (tool.Times, error)
	AddToolTimes(ctx context.Context, name string, seen tool.Times, calls int) (tool.Times, error)

	StartInvestigation(ctx context.Context, r record.Investigation) error
	FinishInvestigation(ctx context.Context, r record.Investigation) error
	ReopenInvestigation(ctx context.Context, id, run string) error
	SetWaiting(ctx context.Context, w record.Waiting) error
	Waiting(ctx context.Context, id string) ([]record.Waiting, error)
	Running(ctx context.Context) ([]record.Investigation, error)
	CloseInvestigation(ctx context.Context, r record.Investigation) (closed bool, err error)
	SaveStage(ctx context.Context, stage record.Stage, executions []record.Execution, envelope *record.Envelope) error
	StartExecution(ctx context.Context, r record.Execution, run string) error
	SetModel(ctx context.Context, r record.Execution) error
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	FindInvestigation(ctx context.Context, workflowID string) (record.Investigation, error)
	Investigations(ctx context.Context, f store.Filter) ([]record.Investigation, error)
	Same(ctx context.Context, r record.Investigation, since time.Time) ([]record.Investigation, error)
	Matching(ctx context.Context, begin string, limit int) ([]string, error)
	Beginnings(ctx context.Context, hashes []string, bytes int) (map[string][]byte, error)
	Stages(ctx context.Context, investigation string) ([]record.Stage, error)
	Executions(ctx context.Context, investigation string) ([]record.Execution, error)
	BeginScore(ctx context.Context, r record.Score) (record.Score, error)
	SaveScore(ctx context.Context, r record.Score, by record.Execution) error
	Scores(ctx context.Context, investigation string) ([]record.Score, error)
	LastScores(ctx context.Context, ids []string) (map[string]int, error)
	Lease(ctx context.Context, name, owner string, d time.Duration) (held bool, err error)
	ChatNews() (<-chan struct{}, func())
	AddChatMessage(ctx context.Context, m record.ChatMessage) (now record.ChatMessage, added bool, err error)
	SetChatMessage(ctx context.Context, m record.ChatMessage) (set bool, err error)
	ChatMessages(ctx context.Context, investigation string) ([]record.ChatMessage, error)
	ChatThreads(ctx context.Context) ([]record.ChatMessage, error)
	ChatThreadAt(ctx context.Context, channel, thread string) ([]record.ChatMessage, error)
	AddChatInput(ctx context.Context, in record.ChatInput) error
	ChatInputs(ctx context.Context) ([]record.ChatInput, error)
	ChatInputDone(ctx context.Context, id string) error
	AnyNews() (<-chan struct{}, func())
	DueNotifications(ctx context.Context, limit int) ([]record.Notification, error)
	ReplaceNotification(ctx context.Context, n int64, others ...record.Notification) error
	PostponeNotification(ctx context.Context, n int64, wait time.Duration) error
	AddRule(ctx context.Context, r remember.Rule) error
	Rule(ctx context.Context, id string) (remember.Rule, error)
	Rules(ctx context.Context, tool string, past bool) ([]remember.Rule, error)
	VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error)
	VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error)
	SaveVirtualAgent(ctx context.Context, a virtual.Agent, after int) (virtual.Agent, error)
	RevokeRule(ctx context.Context, id string, by remember.Revoked) (remember.Rule, error)
	Preview(ctx context.Context, r remember.Rule) (remember.Preview, error)
	Admit(ctx context.Context, a record.Admission) (exceeded agent.EndReason, err error)
	Extend(ctx context.Context, investigation, key string, by plan.Extension, acts ...audit.Act) error
	Usage(ctx context.Context, investigation string) (agent.Usage, error)
	Usages(ctx context.Context, ids []string) (map[string]agent.Usage, error)
	Size(ctx context.Context) (int64, error)
	Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error)
	Circuit(ctx context.Context, key circuit.Key) (circuit.State, time.Time, error)
	ChangeCircuit(ctx context.Context, key circuit.Key, fn func(state *circuit.State, now time.Time)) error
	KnownAlerts(ctx context.Context, all []webhook.Received) ([]bool, error)
	ReceiveAlerts(ctx context.Context, all []webhook.Received) (webhook.Counts, error)
	PlaceAlerts(ctx context.Context, limits func(name string) webhook.Limits) (webhook.Placed, error)
	AlertStarted(ctx context.Context, id, investigation string) error
	AlertsTold(ctx context.Context, lead string) error
	AlertsUnread(ctx context.Context, investigation string) error
	AlertsWait(ctx context.Context, investigation string) (bool, error)
	AlertInvestigations(ctx context.Context, project string, fingerprints []string, since time.Time) ([]string, bool, error)
	Alerts(ctx context.Context, f store.AlertFilter) ([]webhook.Row, error)
	ForgetAlerts(ctx context.Context, before time.Time) (deleted int64, err error)

	Journal(ctx context.Context, batch memory.Batch, run func(tx memory.Tx, n int) (transcript.Body, error)) ([]transcript.Entry, error)
	Remember(ctx context.Context, agent string, fn func(memory.Tx) error) error
	Blocks(ctx context.Context, agent string, configured []memory.Block) ([]memory.Block, error)
	ExportMemory(ctx context.Context, agent string) (memory.Snapshot, error)
	ImportMemory(ctx context.Context, agent string, snapshot memory.Snapshot, replace bool) error
}

// patience is how long the suite waits for expected events.
const patience = 30 * time.Second

// rowTests test rows: of transcripts, records, mail and waits.
var rowTests = map[string]func(*testing.T, opener){
	"alerts":                       testAlerts,
	"a flood of alerts":            testAlertFlood,
	"alerts at once":               testAlertsAtOnce,
	"alerts forgotten":             testAlertsForgotten,
	"alerts that fire anew":        testAlertRefires,
	"alerts by fingerprint":        testAlertInvestigations,
	"alerts that wait":             testAlertsWait,
	"alerts that nobody read":      testAlertsUnread,
	"append and read":              testAppendAndRead,
	"one namespace":                testNamespace,
	"reply of an iteration":        testReply,
	"call of a reply":              testLookupCall,
	"lookup of a reply":            testLookupReply,
	"intent with a result":         testIntent,
	"mail":                         testMail,
	"mail that many race for":      testMailRace,
	"mail and resets":              testMailReset,
	"mail of stages that end":      testMailOfStages,
	"size":                         testSize,
	"how long tools take":          testToolTimes,
	"bodies round-trip":            testBodies,
	"texts of others":              testTexts,
	"first writer wins":            testFirstWriterWins,
	"refused steps":                testRefusedSteps,
	"missing entries":              testMissing,
	"required entries":             testRequired,
	"check":                        testCheck,
	"reset":                        testReset,
	"reset within an iteration":    testResetWithinIteration,
	"reset between calls":          testResetBetweenCalls,
	"shared entries":               testShare,
	"stale run":                    testStaleRun,
	"continue as new":              testContinueAsNew,
	"executions are apart":         testExecutionsApart,
	"ledger":                       testLedger,
	"usage so far":                 testUsageSoFar,
	"notices":                      testNotices,
	"unknown outcomes":             testUnknownCalls,
	"usage of many":                testUsageOfMany,
	"admission":                    testAdmission,
	"admission at once":            testAdmissionAtOnce,
	"cost adds up":                 testCostAddsUp,
	"same step by many":            testSameStepByMany,
	"sequence under parallel work": testParallelSequence,
	"cancelled writers":            testCancelledWriters,
	"live":                         testLive,
	"live ends":                    testLiveEnds,
	"reopen":                       testReopen,
	"program tools":                testProgramTools,
	"identity":                     testIdentity,
	"same fingerprint":             testSame,
	"follow":                       testFollow,
	"follow from a cursor":         testFollowFromCursor,
	"follow what replies use":      testFollowUsage,
	"follow a long log":            testFollowLongLog,
	"follow another handle":        testFollowAnotherHandle,
	"follow ends":                  testFollowEnds,
	"scores":                       testScores,
	"chats":                        testChats,
	"notifications":                testNotifications,
	"rules":                        testRules,
	"virtual agents":               testVirtual,
	"learnings":                    testLearnings,
	"learnings that change":        testLearningsChange,
	"ratings":                      testRatings,
	"runs of schedules":            testScheduleRuns,
	"reviews":                      testReviews,
	"outcomes":                     testOutcomes,
	"ratings of claims":            testClaimRatings,
	"search of learnings":          testLearningsSearch,
	"reads of learnings":           testLearningReads,
	"old learnings by meaning":     testLearningsFar,
	"learnings by meaning":         testLearningsByMeaning,
	"learnings of projects":        testLearningsApart,
	"threads":                      testThreads,
	"deleted threads":              testDeletedThread,
	"names":                        testNames,
	"words of investigations":      testWords,
	"search after a reset":         testSearchAfterReset,
	"pages of a search":            testSearchPages,
	"preview of rules":             testPreview,
	"blobs":                        testBlobs,
	"catalogues":                   testCatalogues,
	"investigation records":        testInvestigationRecords,
	"investigation resets":         testInvestigationResets,
	"closed on behalf of others":   testCloseInvestigation,
	"what is waited for":           testSetStatus,
	"what waits":                   testWaiting,
	"pending items after a reset":  testWaitingAfterAReset,
	"what waits, at random":        testRandomWaiting,
	"what waits is followed":       testFollowWaiting,
	"notices of other runs stay":   testNoticesOfRuns,
	"find and list":                testFindAndList,
	"find by a beginning":          testMatching,
	"stage records":                testStageRecords,
	"late stage":                   testLateStage,
	"late start":                   testLateStart,
	"start stays":                  testStartStays,
	"begun by another run":         testBegun,
	"random runs":                  testRandomRuns,
}

// Run runs the suite. open opens the database of its t. The first call for a t must return an empty database, and a second call
// another handle on the same one, as another process would have. The suite closes all handles.
func Run(t *testing.T, open func(t *testing.T) Store) {
	tests := maps.Clone(rowTests)
	maps.Copy(tests, memoryTests())
	maps.Copy(tests, windowTests)
	for name, end := range reservationEnds {
		tests[name] = testReservationEnds(end)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func() Store {
				s := open(t)
				t.Cleanup(func() { s.Close() })
				return s
			})
		})
	}
}

// opener opens a handle on the database of one test.
type opener func() Store

package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	// unnamed is the name of an investigation whose request leaves the chain to the configuration.
	unnamed = "investigation"
	// maxEasy is how much data goes into Temporal if there is a store to put it into, in bytes.
	maxEasy = 256 << 10
	// maxRequest is how large a request may be: Temporal refuses 2 MB.
	maxRequest = 2<<20 - 16<<10
)

// Start is an investigation that is to begin.
type Start struct {
	// Workflow is the workflow id; "" = the chain's or alert type's name and a random part.
	Workflow string
	Request  agent.Request // without its data
	// Data is what is to be investigated. Masking says what of it leaves this process
	// (nil = all), MaxData how much may, in bytes (0 = any), and Dedup by what it is the same
	// as another of Chain; all are of the configuration, and the workers apply theirs again.
	Data    string
	Masking *plan.Masking
	Masker  *mask.Masker // what Masking says, where it is at hand; nil = it is made
	MaxData int
	Chain   string
	Dedup   plan.Dedup
	// Once is a hash of what is asked for under the workflow id: that is used once, and who asks for the same again is
	// given what came of it (Handle.Known), who asks for something else an ErrReused; "" = an id may be used again.
	Once string
}

// ErrReused: what stands for one request was used for another one.
var ErrReused = errors.New("it was used for another request")

// memoOnce is the memo that keeps Start.Once.
const memoOnce = "inquest_once"

// Know takes from a configuration what it says about the request.
func (s *Start) Know(cfg Configuration) {
	s.Masking, s.MaxData = cfg.AlertMasking(), cfg.MaxData()
	s.Chain, s.Dedup = cfg.Dedup(s.Request)
}

// Configuration is the part of a configuration that whoever starts something has to know.
type Configuration interface {
	AlertMasking() *plan.Masking
	MaxData() int
	Dedup(req agent.Request) (chain string, d plan.Dedup)
}

// TakenError: an investigation with that workflow id is running.
type TakenError struct{ Workflow string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("an investigation with the workflow id %s is running", e.Workflow)
}

// Start starts an investigation. Its data is masked first; where it is large, it goes into
// the store, if there is one here, and the request names it. If the request has a fingerprint,
// and there is an investigation of the same, that is returned: see Handle.Known.
func (c *Client) Start(ctx context.Context, s Start) (Handle, error) {
	if _, ok := workflows.WorkflowOf(s.Workflow); ok { // commands would take it for that
		return Handle{}, &InputError{fmt.Errorf("the workflow id %s looks like the id of an investigation: give another", s.Workflow)}
	}
	if err := c.putData(ctx, &s); err != nil {
		return Handle{}, err
	}
	return c.start(ctx, s)
}

// start starts an investigation whose data is in the request.
func (c *Client) start(ctx context.Context, s Start) (Handle, error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return Handle{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	options := sdk.StartWorkflowOptions{
		ID:                                       cmp.Or(s.Workflow, RandomID(cmp.Or(s.Request.Chain, s.Request.AlertType, unnamed))),
		TaskQueue:                                c.opts.TaskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(s.Request),
		Priority:                                 workflows.Priority(s.Request.Labels),
	}
	if s.Request.Project != "" {
		options.Memo = map[string]any{memoProject: s.Request.Project}
	}
	switch {
	case s.Request.Fingerprint != "":
		return startOne(ctx, conn, s, options)
	case s.Once != "":
		return c.startOnce(ctx, conn, s, options)
	}
	return execute(ctx, conn, s, options)
}

// startOnce starts an investigation, unless it was started before.
func (c *Client) startOnce(ctx context.Context, conn sdk.Client, s Start, options sdk.StartWorkflowOptions) (Handle, error) {
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if options.Memo == nil {
		options.Memo = map[string]any{}
	}
	options.Memo[memoOnce] = s.Once
	h, there, err := executeOrFind(ctx, conn, s, options)
	switch {
	case err != nil || there == nil:
		return h, err
	case c.memo(there, memoOnce) != s.Once:
		return Handle{}, ErrReused
	}
	h.Known = true
	return h, nil
}

// execute starts a workflow, unless its id is taken.
func execute(ctx context.Context, conn sdk.Client, s Start, options sdk.StartWorkflowOptions) (Handle, error) {
	run, err := conn.ExecuteWorkflow(ctx, options, workflows.TypeInvestigation, s.Request)
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return Handle{}, &TakenError{options.ID}
	}
	if err != nil {
		return Handle{}, notStarted(options.ID, err)
	}
	return Handle{
		Workflow: run.GetID(), First: run.GetRunID(),
		conn: conn, current: run.GetRunID(), status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}, nil
}

// notStarted says that Temporal has not confirmed a start. The SDK retries what Temporal cannot do at the moment until the time
// is up, so that the error alone does not tell why.
func notStarted(workflowID string, err error) error {
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	if late || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("start investigation %s: Temporal answers, but did not confirm the start within %s. Its database may be full or away: "+
			"look at Temporal's log and its disk. Run \"starter status %s\" to see whether it has started (%w)",
			workflowID, CallTimeout, workflowID, err)
	}
	return fmt.Errorf("start investigation %s: %w", workflowID, err)
}

// executeOrFind starts a workflow, or where its id is taken returns the one that is there.
func executeOrFind(
	ctx context.Context, conn sdk.Client, s Start, options sdk.StartWorkflowOptions,
) (h Handle, there *workflowpb.WorkflowExecutionInfo, err error) {
	h, err = execute(ctx, conn, s, options)
	if !errors.As(err, new(*TakenError)) {
		return h, nil, err
	}
	there, err = describe(ctx, conn, options.ID, workflows.TypeInvestigation)
	if err != nil {
		return Handle{}, nil, err
	}
	return handleOf(conn, there), there, nil
}

// startOne starts an investigation unless there is one of the same. Requests of one fingerprint have
// one workflow id, of which Temporal lets one run at a time; it also refuses to use the id of one
// that has completed. Only where that one is too old is the id used again, and when two
// do so at once, one of them is refused and finds the other's.
func startOne(ctx context.Context, conn sdk.Client, s Start, options sdk.StartWorkflowOptions) (Handle, error) {
	options.ID = sameID(s)
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	for {
		h, there, err := executeOrFind(ctx, conn, s, options)
		if err != nil || there == nil {
			return h, err
		}
		if h.Running() || time.Since(there.GetCloseTime().AsTime()) < s.Dedup.Within.D() {
			h.Known = true
			return h, nil
		}
		options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
}

// sameID is the workflow id of all requests with one fingerprint, of one project, tenant and chain: the
// beginning of the fingerprint, for people, and a hash.
func sameID(s Start) string {
	words := strings.FieldsFunc(strings.Map(idRune, s.Request.Fingerprint), func(r rune) bool { return r == '-' })
	parts := []string{s.Request.Tenant, s.Chain, s.Request.Fingerprint}
	if p := s.Request.Project; p != "" && p != agent.DefaultProject {
		parts = append(parts, p)
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return fmt.Sprintf("%s-%x", clip.Bytes(strings.Join(words, "-"), 48), hash[:6])
}

// putData puts the data into the request, masked, and checks what the workers would refuse.
func (c *Client) putData(ctx context.Context, s *Start) error {
	if err := s.Request.CheckData(s.Data, s.MaxData); err != nil {
		return &InputError{err}
	}
	if s.Masking != nil {
		masker, err := s.Masker, error(nil)
		if masker == nil {
			masker, err = mask.New(*s.Masking)
		}
		if err == nil {
			s.Data, err = masker.Text(ctx, s.Data)
		}
		if err != nil {
			return fmt.Errorf("mask the data: %w", err)
		}
		s.Request.Labels, err = s.Request.Labels.Masked(func(text string) (string, error) { return masker.Text(ctx, text) })
		if err != nil {
			return fmt.Errorf("mask what the request says of itself: %w", err)
		}
	}
	if err := c.fingerprint(s); err != nil {
		return err
	}
	if len(s.Data) > maxEasy {
		st, err := c.Store(ctx)
		if err == nil && st != nil {
			s.Request.DataRef, err = st.PutBlob(ctx, []byte(s.Data))
		}
		if err != nil {
			return err
		}
	}
	if s.Request.DataRef == "" && s.Data != "" {
		var err error
		// A JSON string, whatever it is: so that agents see it byte for byte.
		if s.Request.Data, err = json.Marshal(s.Data); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	if err := s.Request.Validate(); err != nil {
		return &InputError{err}
	}
	body, err := json.Marshal(s.Request)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	if len(body) > maxRequest {
		return &InputError{fmt.Errorf("the request is %d bytes and Temporal takes %d: "+
			"where the workers' store is at hand (--store), data of any size is passed by reference", len(body), maxRequest)}
	}
	return nil
}

// fingerprint gives the request that of its chain, unless it has one of its own or wants none.
func (c *Client) fingerprint(s *Start) error {
	switch {
	case s.Request.Again:
		s.Request.Fingerprint = ""
		return nil
	case s.Request.Fingerprint != "" && s.Workflow != "":
		return &InputError{errors.New(`a request with a "fingerprint" has the workflow id of that: give no other`)}
	case s.Workflow != "" && s.Once == "":
		return nil // the workers see whether it is the same as another
	}
	fingerprint, missing := s.Dedup.Fingerprint(s.Chain, s.Request, s.Data)
	if missing != "" {
		c.opts.Tell(fmt.Sprintf("the request has no %s, by which the chain would know another one of the same", missing))
	}
	s.Request.Again = missing != "" && s.Request.Fingerprint != "" // the workers make none of other parts instead
	s.Request.Fingerprint = fingerprint
	return nil
}

// RandomID is a workflow id that people can read: a name and 8 random characters.
func RandomID(name string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return IDOf(name) + "-" + hex.EncodeToString(random[:])
}

// IDOf is a name as a part of a workflow id.
func IDOf(name string) string { return strings.Map(idRune, name) }

// idRune keeps what needs no quoting in shells and addresses.
func idRune(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
		return r
	}
	return '-'
}

// summary is what Temporal's UI shows of the investigation in its list.
func summary(req agent.Request) string {
	if req.Chain == "" || req.AlertType == "" {
		return req.Chain + req.AlertType
	}
	return req.Chain + " · " + req.AlertType
}

package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
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
	// (nil = all), MaxData how much may, in bytes (0 = any); both are of the
	// configuration, and the workers apply theirs again.
	Data    string
	Masking *plan.Masking
	MaxData int
}

// TakenError: an investigation with that workflow id is running.
type TakenError struct{ Workflow string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("an investigation with the workflow id %s is running", e.Workflow)
}

// Start starts an investigation. Its data is masked first; where it is large, it goes into
// the store, if there is one here, and the request names it.
func (c *Client) Start(ctx context.Context, s Start) (Handle, error) {
	if err := c.putData(ctx, &s); err != nil {
		return Handle{}, err
	}
	conn, err := c.temporal(ctx)
	if err != nil {
		return Handle{}, err
	}
	id := cmp.Or(s.Workflow, RandomID(cmp.Or(s.Request.Chain, s.Request.AlertType, unnamed)))
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	run, err := conn.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
		ID:                                       id,
		TaskQueue:                                c.opts.TaskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(s.Request),
	}, workflows.TypeInvestigation, s.Request)
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return Handle{}, &TakenError{id}
	}
	if err != nil {
		return Handle{}, fmt.Errorf("start investigation %s: %w", id, err)
	}
	return Handle{
		Workflow: run.GetID(), First: run.GetRunID(),
		conn: conn, current: run.GetRunID(), status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}, nil
}

// putData puts the data into the request, masked, and checks what the workers would refuse.
func (c *Client) putData(ctx context.Context, s *Start) error {
	if err := s.Request.CheckData(s.Data, s.MaxData); err != nil {
		return &InputError{err}
	}
	if s.Masking != nil {
		masker, err := mask.New(*s.Masking)
		if err == nil {
			s.Data, err = masker.Text(ctx, s.Data)
		}
		if err != nil {
			return fmt.Errorf("mask the data: %w", err)
		}
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

// RandomID is a workflow id that people can read: a name and 8 random characters.
func RandomID(name string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return strings.Map(idRune, name) + "-" + hex.EncodeToString(random[:])
}

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

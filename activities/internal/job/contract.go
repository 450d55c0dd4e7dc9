package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Contract returns the requirements for the agent's final text.
func (j *Job) Contract() plan.Contract {
	c := j.Agent.Contract
	c.JSON = c.JSON || j.Row.JSON || len(c.Required) > 0 || len(c.Schema) > 0
	return c
}

// Invalid describes how a final text violates the contract. An empty string means that the text is valid or empty.
func (j *Job) Invalid(text string) string {
	c := j.Contract()
	if !c.Asks() || text == "" {
		return ""
	}
	_, err := output.Object(text, j.Meets(j.Agent.Name, c))
	if err != nil {
		return clip.Bytes(tool.ValidText(err.Error()), 500)
	}
	return ""
}

// Meets returns a function that reports how an object violates a contract. agent is the name of the agent for errors.
func (a *Worker) Meets(agent string, c plan.Contract) func(map[string]json.RawMessage) error {
	return func(object map[string]json.RawMessage) error {
		if err := output.Missing(agent, object, c.Required); err != nil || len(c.Schema) == 0 {
			return err
		}
		body, err := json.Marshal(object)
		if err != nil {
			return err
		}
		document, err := decodeObject(body)
		if err != nil {
			return err
		}
		if schema, err := decodeObject(c.Schema); err == nil && reflect.DeepEqual(document, schema) {
			return errSchemaItself
		}
		return a.Validator.Violations(c.Schema, document)
	}
}

var errSchemaItself = errors.New("the object is the JSON schema, not an object that satisfies it")

func decodeObject(body []byte) (object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err = decoder.Decode(&object)
	return object, err
}

// The output keys that steer a chain and are read by name.
const (
	FieldOutcome = "outcome"
	FieldMessage = "message"
)

// SteeringKeys returns the output keys that decide where a stage's chain goes. data is shown to people with a question.
func SteeringKeys(stage plan.Stage) []string {
	keys := []string{FieldOutcome, "question", FieldMessage, "data", "interrupt"}
	for _, rule := range stage.Routing.Rules {
		keys = append(keys, rule.Condition)
	}
	return keys
}

// StageObject returns the object that a stage hands on in its final text: one that meets the stage's contract, or else
// one with a key that steers the chain or is in keys, or else any. Nil means that there is no object, as in plain text.
func (a *Worker) StageObject(stage plan.Stage, text string, keys ...string) map[string]json.RawMessage {
	contract := stage.Contract()
	meets := a.Meets(stage.Name, contract)
	if len(contract.Required)+len(contract.Schema) == 0 {
		keys = append(keys, SteeringKeys(stage)...)
		meets = func(object map[string]json.RawMessage) error {
			if slices.ContainsFunc(keys, func(key string) bool { return object[key] != nil }) {
				return nil
			}
			return errSteersNothing
		}
	}
	object, _ := output.Object(text, meets)
	return object
}

var errSteersNothing = errors.New("no key of the object steers the chain")

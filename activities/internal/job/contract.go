package job

import (
	"bytes"
	"encoding/json"

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
	object, err := output.Object(text)
	if err == nil {
		err = output.Missing(j.Agent.Name, object, c.Required)
	}
	if err == nil && len(c.Schema) > 0 {
		err = j.violations(c.Schema, object)
	}
	if err != nil {
		return clip.Bytes(tool.ValidText(err.Error()), 500)
	}
	return ""
}

func (j *Job) violations(schema json.RawMessage, object map[string]json.RawMessage) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var document map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return err
	}
	return j.Validator.Violations(schema, document)
}

package plan

import "encoding/json"

// CheckSchema is the JSON schema of a check's verdict.
var CheckSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdict","problems","summary"],"properties":{
"verdict":{"type":"string","enum":["ok","problem","unknown"]},
"problems":{"type":"array","maxItems":50,"items":{"type":"object","additionalProperties":false,"required":["name","detail"],
"properties":{"name":{"type":"string","pattern":"\\S","maxLength":100},"detail":{"type":"string","maxLength":500}}}},
"summary":{"type":"string","minLength":1,"maxLength":2000}}}`)

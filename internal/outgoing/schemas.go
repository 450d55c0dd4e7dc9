package outgoing

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
)

// schemas keeps what Schema returned, because all model calls of an agent have the same tools.
var schemas struct {
	sync.Mutex
	known map[schemaKey]rewrittenSchema
}

// maxSchemas limits the kept schemas. When there are more, those in use come back with their next request.
const maxSchemas = 512

type schemaKey struct {
	original [sha256.Size]byte
	form     agent.SchemaForm
}

type rewrittenSchema struct {
	out   json.RawMessage
	notes []string
	err   error
}

// Schema returns the schema of a tool's arguments in a form. Its results must not be changed. See rewriteSchema.
func Schema(original json.RawMessage, to agent.SchemaForm) (json.RawMessage, []string, error) {
	key := schemaKey{sha256.Sum256(original), to}
	schemas.Lock()
	r, ok := schemas.known[key]
	schemas.Unlock()
	if !ok {
		r.out, r.notes, r.err = rewriteSchema(original, to)
		schemas.Lock()
		if schemas.known == nil || len(schemas.known) >= maxSchemas {
			schemas.known = map[schemaKey]rewrittenSchema{}
		}
		schemas.known[key] = r
		schemas.Unlock()
	}
	return r.out, r.notes, r.err
}

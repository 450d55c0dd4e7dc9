package outgoing

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// Learner sends requests in the dialect of a model's server, and learns from the server's refusals. Each client has
// one; models are distinguished by name. It is safe for concurrent use, and its zero value is ready.
type Learner struct {
	models sync.Map // a learned value for each name
}

// learned holds the known rules of a model's server.
type learned struct {
	dialect agent.Dialect
	refused map[toolKey]string // the server's text for each tool whose schema it refuses
	fields  []string           // the optional fields that it does not know
}

// toolKey is the digest of a tool's name and schema: a changed tool is offered again.
type toolKey [sha256.Size]byte

func keyOf(t llm.Tool) toolKey { return sha256.Sum256([]byte(t.Name + "\x00" + string(t.Schema))) }

// maxLessons is how often one request is sent again.
const maxLessons = 16

// sender makes one request.
type sender func(*llm.Request, agent.Dialect) (llm.Response, error)

// Send sends a request in the dialect of the model's server; planned is the dialect in the plan. If the server's
// refusal reveals a new rule, Send sends the changed request at once. Later requests for the model follow the rule only
// if the changed request succeeded, because the text may mean something else. The reply names the omitted parts.
func (l *Learner) Send(planned agent.Dialect, req *llm.Request, send sender) (llm.Response, error) {
	known := &learned{dialect: planned}
	if earlier, ok := l.models.Load(req.Model); ok {
		known = earlier.(*learned)
	}
	sent := known.request(req)
	out, err := send(sent, known.dialect)
	if refuses(err) {
		known, err = l.again(known, req, sent, send, &out, err)
	}
	if err == nil {
		out.Omitted = known.omitted(req, planned)
	}
	return out, withWindow(err)
}

// again sends a request that the server has refused in the form sent, changed by what each refusal reveals. It is a function of its own
// because thousands of requests may be waiting in Send, with all its variables on their stacks.
func (l *Learner) again(known *learned, req, sent *llm.Request, send sender, out *llm.Response, err error) (*learned, error) {
	for range maxLessons {
		next, ok := known.learn(err.Error(), req, sent)
		changed := next.request(req)
		if !ok || reflect.DeepEqual(changed, sent) && !(next.dialect.Alternates && hasImages(req)) {
			break
		}
		known, sent = &next, changed
		if *out, err = send(sent, known.dialect); err == nil {
			l.models.Store(req.Model, known)
		}
		if !refuses(err) {
			break
		}
	}
	return known, err
}

// refusing are the statuses of servers that read the request and refused a part of it. Templates of open models fail with 500, and
// inside a stream there is no status: the text alone shows whether that is a refusal or an outage. Other statuses are about keys,
// limits and outages, regardless of their text.
var refusing = []int{0, http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError}

func refuses(err error) bool {
	refused, ok := errors.AsType[*llm.Error](err)
	return ok && slices.Contains(refusing, refused.Status)
}

func hasImages(req *llm.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m agent.Message) bool { return len(m.Images) > 0 })
}

// request returns the request in the form that the server accepts.
func (l *learned) request(asked *llm.Request) *llm.Request {
	req := *asked
	if len(l.refused) > 0 {
		refused := func(t llm.Tool) bool { return l.refused[keyOf(t)] != "" }
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), refused)
		req.Withheld = slices.DeleteFunc(slices.Clone(req.Withheld), refused)
	}
	req.Omit = l.fields
	req = Request(req, l.dialect)
	return &req
}

// learn returns the rules known after a refusal. ok is false if its text reveals nothing new.
func (l learned) learn(words string, req, sent *llm.Request) (_ learned, ok bool) {
	if l.dialect, ok = Learn(l.dialect, words); ok {
		return l, true
	}
	for _, name := range refusedFields(words) {
		before := l.dialect
		switch rule := optional[name]; {
		case rule != nil:
			rule(&l.dialect, 0)
			ok = ok || l.dialect != before
		case !slices.Contains(l.fields, name):
			l.fields, ok = append(slices.Clip(l.fields), name), true
		}
	}
	if ok {
		return l, true
	}
	names := refusedTools(words, slices.Concat(sent.Tools, sent.Withheld))
	refused := maps.Clone(l.refused)
	for _, t := range slices.Concat(req.Tools, req.Withheld) {
		if slices.Contains(names, Name(t.Name)) && refused[keyOf(t)] == "" {
			if refused == nil {
				refused = map[toolKey]string{}
			}
			refused[keyOf(t)], ok = words, true
		}
	}
	l.refused = refused
	return l, ok
}

// toolRefusals match refusals that name the tool with the refused schema, by its name or by its position in the
// request.
var toolRefusals = []*regexp.Regexp{
	// OpenAI and Azure. https://github.com/mark3labs/mcphost/issues/88
	regexp.MustCompile(`Invalid schema for function '([^']+)'`),
	// Anthropic. https://github.com/anthropics/claude-code/issues/63673
	regexp.MustCompile(`\btools\.(\d+)\.(?:custom\.)?input_schema\b`),
	// Gemini, for each tool. https://github.com/browser-use/browser-use/issues/7
	regexp.MustCompile(`\bfunction_declarations\[(\d+)\]`),
	// Vertex AI. https://github.com/google-gemini/gemini-cli/issues/2282
	regexp.MustCompile("Unable to submit request because [`']?([a-zA-Z0-9_.:-]+)[`']?\\s+functionDeclaration\\b"),
	// Bedrock. https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html
	regexp.MustCompile(`\btoolConfig\.tools\.(\d+)\.`),
}

// refusedTools returns the names of the tools whose schemas a refusal names.
func refusedTools(words string, sent []llm.Tool) (names []string) {
	for _, sentence := range toolRefusals {
		for _, said := range sentence.FindAllStringSubmatch(words, -1) {
			at, err := strconv.Atoi(said[1])
			switch {
			case err != nil:
				names = append(names, said[1])
			case at < len(sent):
				names = append(names, sent[at].Name)
			}
		}
	}
	return names
}

// omitted returns the parts that a request omits because the server refused them, beyond those that the plan's dialect
// omits.
func (l *learned) omitted(req *llm.Request, planned agent.Dialect) (out []llm.Omission) {
	tools := req.Tools
	if len(tools) == 0 {
		tools = req.Withheld
	}
	_, before := Tools(tools, planned)
	_, after := Tools(tools, l.dialect)
	for _, omission := range after {
		if !slices.Contains(before, omission) {
			out = append(out, omission)
		}
	}
	for _, t := range tools {
		if words := l.refused[keyOf(t)]; words != "" {
			why := "the provider rejects its schema: " + strings.Join(strings.Fields(words), " ")
			out = append(out, llm.Omission{Tool: t.Name, Why: why})
		}
	}
	say := func(changed bool, why string) {
		if changed {
			out = append(out, llm.Omission{Why: why})
		}
	}
	now := l.dialect
	say(len(tools) > 0 && req.JSON && len(req.Schema) == 0 && now.PlainBesideTools && !planned.PlainBesideTools,
		"the JSON response format is omitted because the provider rejects it together with tools")
	say(len(req.Schema) > 0 && now.RefusesSchema && !planned.RefusesSchema,
		"the schema of the reply is only in the prompt because the provider rejects it as a parameter")
	say(req.Temperature != nil && now.RefusesTemperature && !planned.RefusesTemperature,
		"temperature is omitted because the provider rejects it")
	say(req.Thinking != agent.Thinking{} && now.RefusesThinking && !planned.RefusesThinking,
		"the thinking parameters are omitted because the provider rejects them")
	say(now.Alternates && !planned.Alternates,
		"successive messages of one role are joined because the provider requires the roles user and assistant to alternate")
	say(now.WantsThoughts && !planned.WantsThoughts,
		"replies without reasoning_content get an empty one because the provider requires the field")
	say(len(req.Tools) == 0 && len(tools) > 0 && now.RefusesNone && !planned.RefusesNone,
		"tool_choice is omitted because the provider rejects the value none")
	for _, name := range l.fields {
		done := "omitted"
		if other := otherNames[name]; other != "" && !slices.Contains(l.fields, other) {
			done = "sent as " + other
		}
		say(true, "the field "+name+" is "+done+" because the provider does not know it")
	}
	say(now.MaxTokens > 0 && now.MaxTokens != planned.MaxTokens && req.MaxTokens > now.MaxTokens,
		fmt.Sprintf("max_tokens is %d instead of %d because the provider accepts no more", now.MaxTokens, req.MaxTokens))
	return out
}

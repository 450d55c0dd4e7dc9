// Package config is what users write: agents, chains, MCP servers and model
// providers, in YAML. It loads (strictly), inherits (in one function),
// validates (everything at once, each finding with file, line and path), and
// resolves a chain to the plan that an investigation follows.
//
// # Variables
//
// {{.NAME}} stands for a variable of the environment. Variables are expanded
// scalar by scalar, in the values of the parsed YAML, not in the file's text:
// line numbers stay right, and no value can change the structure around it,
// whatever newlines, quotes or braces it holds. A value may be the bare
// {{.NAME}}; one that only begins with it must be quoted, as in
// "{{.HOME}}/data". Keys and comments are never expanded. Two forms exist:
// {{.NAME}}, and {{"text"}} for a text with braces of its own. The variable's
// value is taken as it is and not expanded again.
//
// Values that may hold secrets (a server's env, bearer_token and custom_headers,
// the DSN of PostgreSQL) keep their template text until they are used, and are
// read from the environment then. {{.SESSION_ID}} is left for run time.
//
// # Inheritance
//
// Low to high, and the last one that is set wins: built-in defaults, defaults,
// the agent's type, the agent, the chain, the stage, the agent's entry in the
// stage. An empty list of fallback providers clears the inherited ones, and so
// does one of enabled or disabled tools; other empty lists count as not set. `starter config show` writes what comes of
// it, and for every value where it comes from.
//
// # Chains that route
//
// The stages of a chain run in order, unless they say otherwise:
//
//	agent_chains:
//	  triage:
//	    bounds: {max_passes: 2}
//	    stages:
//	      - name: plan
//	        agents: [{name: Planner}]
//	        required_output_fields: [steps]
//	      - name: work
//	        agents: [{name: LogAgent}, {name: MetricsAgent}]
//	        error_next: report
//	      - name: judge
//	        agents: [{name: Judge}]
//	        routing_rules:
//	          - {condition: complete, value: true, target: report}
//	          - {condition: unclear, value: true, target: clarification}
//	        default_next: plan
//	      - name: report
//	        agents: [{name: Writer}]
//
// A target is a stage, end, clarification or confirmation; the last two ask people,
// with what the stage's output has as "question" and "data"; so do outputs with the
// "outcome" clarify or confirm. A stage whose success leads to confirmation is a gate:
// once people agree, the chain goes on to its on_approve, or to the next stage; if they
// do not, or nobody answers in time, it ends. A target that is not further on begins
// another pass. A chain with routing_rules, default_next, error_next or loop_target is
// one that routes, and has bounds even if it names none. A stage's own keys may also
// stand on the entry of its one agent; a key that stands in both places is refused.
//
// Where a stage has requires or after, the stages of its chain start as soon as they
// may, beside each other, instead of in order. So nothing sends such a chain forward:
// its targets are stages before, the stage itself, and what is no stage.
//
// Functions of the workers' program may run before and after a stage's agents, or in
// an agent's place (docs/reference/go-api.md). prompts are texts that stages name by prompt_key;
// variables in them are those that prompts lists below, and not the environment's.
//
// `starter chain graph` draws a chain.
package config

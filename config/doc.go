// Package config is the part of the system that you write in YAML: agents, chains, MCP servers and model providers.
// Unknown keys and wrong values are errors. `starter validate` reports all of them at once, with file, line and path.
// When an investigation starts, Inquest resolves its chain, with all inherited settings, to a fixed plan.
//
// # Variables
//
// {{.NAME}} stands for an environment variable. Variables are expanded in the scalar values of the parsed YAML, not in
// the file's text. Line numbers therefore stay right, and a value cannot change the structure around it, whatever
// newlines, quotes or braces it contains. A value that consists of {{.NAME}} needs no quotes. A value that begins with a
// variable and continues must be quoted, as in "{{.HOME}}/data". Keys and comments are never expanded. There are two forms: {{.NAME}}, and
// {{"text"}} for literal text with braces. The value of a variable is not expanded again.
//
// Values that may hold secrets (a server's env, bearer_token and custom_headers, the DSN of PostgreSQL) keep their
// template text and are read from the environment each time they are used. {{.SESSION_ID}} is expanded at run time.
//
// Other notations (${NAME}, ${NAME:-default}, ${env:NAME}, the words $NAME and %NAME%, tags such as !env) are sent as they
// are, and validation warns of them. It accepts them where the program expands them: after the name of a shell, in
// arguments with signs of a script (quotes, parentheses), and in mcp-remote's for variables in env. {{"${NAME}"}} sends
// ${NAME} without a warning.
//
// # Inheritance
//
// Settings are inherited from these levels, lowest first; the last level that sets a value wins: built-in defaults,
// defaults, the agent's type, the agent, the chain, the stage, the agent's entry in the stage. An empty list of
// fallback providers, or of enabled or disabled tools, clears the inherited list; other empty lists count as not set.
// `starter config show` prints the result, with the origin of every value.
//
// # Chains that route
//
// The stages of a chain run in order unless routing says otherwise:
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
// A target is a stage, end, clarification or confirmation. The last two ask people, using "question" and "data" of the
// stage's output. An output with the "outcome" clarify or confirm asks people as well. A stage whose success leads to
// confirmation is a gate: if people agree, the chain continues at its on_approve, or at the next stage; if they
// disagree, or nobody answers in time, the chain ends. A target at or before the stage begins another pass. A chain
// with routing_rules, default_next, error_next, loop_target or agent_review is routed, and has bounds even if it names
// none. The stage's routing keys may instead be on the entry of its only agent; a key in both places is refused.
//
// If a stage has requires or after, the stages of its chain start as soon as they can, in parallel, instead of in
// order. Such a chain cannot jump forward: its targets are earlier stages, the stage itself, and end, clarification or
// confirmation.
//
// Functions of the workers' program can run before and after a stage's agents, or replace an agent (docs/reference/go-api.md).
// prompts are texts that a stage selects with prompt_key. They contain the variables listed under prompts below, not
// environment variables.
//
// `starter chain graph` draws a chain.
package config

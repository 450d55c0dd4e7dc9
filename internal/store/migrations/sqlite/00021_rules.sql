-- +goose Up

-- Decisions that people made for all calls of a kind. See remember.Rule.
CREATE TABLE rules (
    id         TEXT PRIMARY KEY,
    tool       TEXT NOT NULL,
    rule       TEXT NOT NULL, -- JSON of remember.Rule, without the fields in other columns
    expires_at INTEGER,       -- NULL means never
    revoked    TEXT,          -- JSON of remember.Revoked; NULL means that the rule is in force
    uses       INTEGER NOT NULL,
    last_used  INTEGER
) STRICT;
CREATE INDEX rules_in_force ON rules (tool) WHERE revoked IS NULL;

-- The outcomes of calls that do more than read, and of calls that a person decided. Rules are previewed on them.
CREATE TABLE past_calls (
    id            INTEGER PRIMARY KEY,
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    stage         TEXT NOT NULL,
    tool          TEXT NOT NULL,
    call          TEXT NOT NULL, -- unique within the execution
    arguments     TEXT NOT NULL, -- as the model wrote them
    fate          TEXT NOT NULL, -- remember.Fate
    decision      TEXT NOT NULL, -- the decision of a person or a rule
    at            INTEGER NOT NULL
) STRICT;
CREATE INDEX past_calls_by_tool ON past_calls (tool);

INSERT INTO past_calls (investigation, execution, stage, tool, call, arguments, fate, decision, at)
SELECT investigation, execution, substr(execution || '/', 1, instr(execution || '/', '/') - 1),
    json_extract(body, '$.call.name'), json_extract(body, '$.call.id'), json_extract(body, '$.call.arguments'),
    CASE
        WHEN kind = 'call' AND json_extract(body, '$.decision') <> '' THEN 'approved'
        WHEN kind = 'call' THEN 'made'
        WHEN json_extract(body, '$.text') LIKE 'The call of % was not made: denied by %' THEN 'denied'
        ELSE 'undecided'
    END, COALESCE(json_extract(body, '$.decision'), ''), at
FROM entries
WHERE kind = 'call' AND (COALESCE(json_extract(body, '$.call.risk'), '') <> 'read_only' OR json_extract(body, '$.decision') <> '')
    OR kind = 'result' AND json_extract(body, '$.error_type') = 'PermissionDenied'
        AND json_extract(body, '$.text') LIKE 'The call of % was not made: denied%';
UPDATE past_calls SET stage = substr(stage, 1, instr(stage, '#') - 1) WHERE instr(stage, '#') > 1;

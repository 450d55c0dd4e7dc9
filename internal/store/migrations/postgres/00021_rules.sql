-- +goose Up

-- Decisions that people made for all calls of a kind. See remember.Rule.
CREATE TABLE rules (
    id         TEXT COLLATE "C" PRIMARY KEY,
    tool       TEXT COLLATE "C" NOT NULL,
    rule       TEXT NOT NULL, -- JSON of remember.Rule, without the fields in other columns
    expires_at BIGINT,        -- NULL means never
    revoked    TEXT,          -- JSON of remember.Revoked; NULL means that the rule is in force
    uses       BIGINT NOT NULL,
    last_used  BIGINT
);
CREATE INDEX rules_in_force ON rules (tool) WHERE revoked IS NULL;

-- The outcomes of calls that do more than read, and of calls that a person decided. Rules are previewed on them.
CREATE TABLE past_calls (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    stage         TEXT COLLATE "C" NOT NULL,
    tool          TEXT COLLATE "C" NOT NULL,
    call          TEXT NOT NULL, -- unique within the execution
    arguments     TEXT NOT NULL, -- as the model wrote them
    fate          TEXT NOT NULL, -- remember.Fate
    decision      TEXT NOT NULL, -- the decision of a person or a rule
    at            BIGINT NOT NULL
);
CREATE INDEX past_calls_by_tool ON past_calls (tool);

-- An escaped NUL is removed, because PostgreSQL cannot store it in a text.
INSERT INTO past_calls (investigation, execution, stage, tool, call, arguments, fate, decision, at)
SELECT investigation, execution, split_part(split_part(execution, '/', 1), '#', 1),
    c -> 'call' ->> 'name', c -> 'call' ->> 'id', c -> 'call' ->> 'arguments',
    CASE
        WHEN kind = 'call' AND c ->> 'decision' <> '' THEN 'approved'
        WHEN kind = 'call' THEN 'made'
        WHEN c ->> 'text' LIKE 'The call of % was not made: denied by %' THEN 'denied'
        ELSE 'undecided'
    END, COALESCE(c ->> 'decision', ''), at
FROM (
    SELECT *, CASE WHEN position('\u0000' IN body) = 0 THEN body::json END AS c FROM entries WHERE kind IN ('call', 'result')
) AS calls
WHERE c IS NOT NULL AND (
    kind = 'call' AND (COALESCE(c -> 'call' ->> 'risk', '') <> 'read_only' OR c ->> 'decision' <> '')
    OR kind = 'result' AND c ->> 'error_type' = 'PermissionDenied' AND c ->> 'text' LIKE 'The call of % was not made: denied%');

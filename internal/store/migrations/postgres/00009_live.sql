-- +goose Up

-- The sums of ledger by execution, instead of by investigation: what each agent
-- has used so far. tool_calls counts the calls that its replies requested.
CREATE TABLE execution_sums (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    model_calls   BIGINT NOT NULL,
    tool_calls    BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost          BIGINT NOT NULL, -- in 1e-12 US dollars, so that sums are exact
    PRIMARY KEY (investigation, execution)
);
INSERT INTO execution_sums SELECT investigation, execution,
    SUM(COALESCE((body::json->'usage'->>'model_calls')::BIGINT, 0)),
    SUM(COALESCE((body::json->'usage'->>'tool_calls')::BIGINT, 0)
        + CASE WHEN kind = 'reply' AND body::json->'forced' IS NULL THEN COALESCE(json_array_length(body::json->'calls'), 0) ELSE 0 END),
    SUM(COALESCE((body::json->'usage'->>'input_tokens')::BIGINT, 0)), SUM(COALESCE((body::json->'usage'->>'output_tokens')::BIGINT, 0)),
    SUM(ROUND(COALESCE((body::json->'usage'->>'cost_usd')::NUMERIC, 0) * 1e12)::BIGINT)
FROM entries WHERE kind = 'reply' OR body::json->'usage' IS NOT NULL GROUP BY investigation, execution;
DROP TABLE ledger_sums;

-- A partial index, because few of many investigations have not ended.
CREATE INDEX investigations_open ON investigations (started_at, id) WHERE ended_at IS NULL;

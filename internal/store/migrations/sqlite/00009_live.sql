-- +goose Up

-- The sums of ledger by execution, instead of by investigation: what each agent
-- has used so far. tool_calls counts the calls that its replies requested.
CREATE TABLE execution_sums (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    model_calls   INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL, -- in 1e-12 US dollars, so that sums are exact
    PRIMARY KEY (investigation, execution)
) STRICT;
INSERT INTO execution_sums SELECT investigation, execution,
    SUM(COALESCE(json_extract(body, '$.usage.model_calls'), 0)),
    SUM(COALESCE(json_extract(body, '$.usage.tool_calls'), 0)
        + CASE WHEN kind = 'reply' AND json_extract(body, '$.forced') IS NULL THEN COALESCE(json_array_length(body, '$.calls'), 0) ELSE 0 END),
    SUM(COALESCE(json_extract(body, '$.usage.input_tokens'), 0)), SUM(COALESCE(json_extract(body, '$.usage.output_tokens'), 0)),
    SUM(CAST(ROUND(COALESCE(json_extract(body, '$.usage.cost_usd'), 0) * 1e12) AS INTEGER))
FROM entries WHERE kind = 'reply' OR json_extract(body, '$.usage') IS NOT NULL GROUP BY investigation, execution;
DROP TABLE ledger_sums;

-- A partial index, because few of many investigations have not ended.
CREATE INDEX investigations_open ON investigations (started_at, id) WHERE ended_at IS NULL;

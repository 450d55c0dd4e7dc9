-- +goose Up

-- The rest of a status, beside the columns: JSON of record.Envelope and record.StageEnvelope.
ALTER TABLE investigations ADD COLUMN envelope TEXT NOT NULL DEFAULT '{}';
ALTER TABLE stages ADD COLUMN envelope TEXT NOT NULL DEFAULT '{}';

-- The sums of ledger, so that no query has to read all of its rows.
CREATE TABLE ledger_sums (
    investigation TEXT PRIMARY KEY,
    model_calls   INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL -- in 1e-12 US dollars, so that sums are exact
) STRICT;
INSERT INTO ledger_sums SELECT investigation,
    SUM(COALESCE(json_extract(usage, '$.model_calls'), 0)), SUM(COALESCE(json_extract(usage, '$.tool_calls'), 0)),
    SUM(COALESCE(json_extract(usage, '$.input_tokens'), 0)), SUM(COALESCE(json_extract(usage, '$.output_tokens'), 0)),
    SUM(CAST(ROUND(COALESCE(json_extract(usage, '$.cost_usd'), 0) * 1e12) AS INTEGER))
FROM ledger GROUP BY investigation;

-- The reservation for the next model call of each execution. An execution makes one
-- call at a time: the next reservation, the reply and the end delete the row.
CREATE TABLE ledger_reserved (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    key           TEXT NOT NULL, -- as in ledger
    model_calls   INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    PRIMARY KEY (investigation, execution)
) STRICT;

-- +goose Up

-- The rest of a status, beside the columns: JSON of record.Envelope and record.StageEnvelope.
ALTER TABLE investigations ADD COLUMN envelope TEXT NOT NULL DEFAULT '{}';
ALTER TABLE stages ADD COLUMN envelope TEXT NOT NULL DEFAULT '{}';

-- The sums of ledger, so that no query has to read all of its rows.
CREATE TABLE ledger_sums (
    investigation TEXT COLLATE "C" PRIMARY KEY,
    model_calls   BIGINT NOT NULL,
    tool_calls    BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost          BIGINT NOT NULL -- in 1e-12 US dollars, so that sums are exact
);
INSERT INTO ledger_sums SELECT investigation,
    SUM(COALESCE((usage::json->>'model_calls')::BIGINT, 0)), SUM(COALESCE((usage::json->>'tool_calls')::BIGINT, 0)),
    SUM(COALESCE((usage::json->>'input_tokens')::BIGINT, 0)), SUM(COALESCE((usage::json->>'output_tokens')::BIGINT, 0)),
    SUM(ROUND(COALESCE((usage::json->>'cost_usd')::NUMERIC, 0) * 1e12)::BIGINT)
FROM ledger GROUP BY investigation;

-- The reservation for the next model call of each execution. An execution makes one
-- call at a time: the next reservation, the reply and the end delete the row.
CREATE TABLE ledger_reserved (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL, -- as in ledger
    model_calls   BIGINT NOT NULL,
    tool_calls    BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost          BIGINT NOT NULL,
    PRIMARY KEY (investigation, execution)
);

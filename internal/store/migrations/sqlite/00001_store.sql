-- +goose Up

-- One row per fact about the file itself, such as the host that it belongs to.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- The progress of each investigation. A follower stores a copy of its row as its cursor.
CREATE TABLE cursors (
    investigation TEXT PRIMARY KEY,
    seq           INTEGER NOT NULL, -- number of the last entry: gapless, because it is counted in the appending transaction
    struck        INTEGER NOT NULL, -- counts the times that entries were superseded
    live          INTEGER NOT NULL, -- version of the investigation's rows in live
    records       INTEGER NOT NULL  -- version of its rows in investigations, stages and executions
) STRICT;

-- The runs that have written to an execution, in order. Only the newest can continue.
CREATE TABLE runs (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    ordinal       INTEGER NOT NULL,
    run_id        TEXT NOT NULL,
    PRIMARY KEY (investigation, execution, ordinal),
    UNIQUE (investigation, execution, run_id)
) STRICT;

CREATE TABLE entries (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    iteration     INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    step          INTEGER NOT NULL, -- seq of the first row of the same step
    kind          TEXT NOT NULL,
    at            INTEGER NOT NULL, -- microseconds since 1970, like all times in this schema
    run_id        TEXT NOT NULL,
    activity_id   TEXT NOT NULL,
    superseded    INTEGER NOT NULL, -- 0, or the value of cursors.struck when the entry was superseded
    body          TEXT NOT NULL,    -- JSON of transcript.Body
    PRIMARY KEY (investigation, seq)
) STRICT;
-- The first writer of a key wins.
CREATE UNIQUE INDEX entries_by_key ON entries (investigation, execution, iteration, position) WHERE superseded = 0;
CREATE INDEX entries_by_step ON entries (investigation, step, seq);

CREATE TABLE live (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    iteration     INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    text          TEXT NOT NULL,
    thinking      TEXT NOT NULL,
    PRIMARY KEY (investigation, execution)
) STRICT;

-- The usage of model calls. Rows of superseded entries remain, because their calls were paid for.
CREATE TABLE ledger (
    investigation TEXT NOT NULL,
    key           TEXT NOT NULL, -- <execution>/<iteration>[/<position>]/<run id>
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    usage         TEXT NOT NULL, -- JSON of agent.Usage
    PRIMARY KEY (investigation, key)
) STRICT;

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY, -- first 32 hex digits of the SHA-256
    data BLOB NOT NULL
) STRICT;

CREATE TABLE catalogues (
    investigation TEXT NOT NULL,
    execution     TEXT NOT NULL,
    server        TEXT NOT NULL,
    hash          TEXT NOT NULL REFERENCES blobs (hash), -- JSON of tool.Catalogue
    PRIMARY KEY (investigation, execution, server)
) STRICT;

CREATE TABLE investigations (
    id          TEXT PRIMARY KEY,
    workflow_id TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    chain       TEXT NOT NULL,
    alert_type  TEXT NOT NULL,
    plan_hash   TEXT NOT NULL,
    data_hash   TEXT NOT NULL,
    status      TEXT NOT NULL,
    end_reason  TEXT NOT NULL,
    error       TEXT NOT NULL,
    report      TEXT NOT NULL,
    usage       TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
CREATE INDEX investigations_by_start ON investigations (started_at, id);
CREATE INDEX investigations_by_workflow ON investigations (workflow_id, started_at);

CREATE TABLE stages (
    investigation TEXT NOT NULL,
    name          TEXT NOT NULL,
    idx           INTEGER NOT NULL,
    status        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    result        TEXT NOT NULL,
    error         TEXT NOT NULL,
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    PRIMARY KEY (investigation, name)
) STRICT;

CREATE TABLE executions (
    investigation TEXT NOT NULL,
    name          TEXT NOT NULL,
    stage         TEXT NOT NULL,
    agent         TEXT NOT NULL,
    type          TEXT NOT NULL,
    llm_backend   TEXT NOT NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    status        TEXT NOT NULL,
    stop_reason   TEXT NOT NULL,
    forced        INTEGER NOT NULL,
    iterations    INTEGER NOT NULL,
    usage         TEXT NOT NULL,
    error         TEXT NOT NULL,
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    PRIMARY KEY (investigation, name)
) STRICT;

-- +goose Up

-- The tables of the SQLite store, with PostgreSQL's types. Keys are compared and
-- sorted by their bytes (COLLATE "C"), regardless of the database's locale.

-- The progress of each investigation. A follower stores a copy of its row as its cursor.
CREATE TABLE cursors (
    investigation TEXT COLLATE "C" PRIMARY KEY,
    seq           BIGINT NOT NULL, -- number of the last entry: gapless, because it is counted in the appending transaction
    struck        BIGINT NOT NULL, -- counts the times that entries were superseded
    live          BIGINT NOT NULL, -- version of the investigation's rows in live
    records       BIGINT NOT NULL  -- version of its rows in investigations, stages and executions
);

-- The runs that have written to an execution, in order. Only the newest can continue.
CREATE TABLE runs (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    ordinal       BIGINT NOT NULL,
    run_id        TEXT NOT NULL,
    PRIMARY KEY (investigation, execution, ordinal),
    UNIQUE (investigation, execution, run_id)
);

CREATE TABLE entries (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    iteration     BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    step          BIGINT NOT NULL, -- seq of the first row of the same step
    kind          TEXT NOT NULL,
    at            BIGINT NOT NULL, -- microseconds since 1970, like all times in this schema
    run_id        TEXT NOT NULL,
    activity_id   TEXT NOT NULL,
    superseded    BIGINT NOT NULL, -- 0, or the value of cursors.struck when the entry was superseded
    body          TEXT NOT NULL,    -- JSON of transcript.Body
    PRIMARY KEY (investigation, seq)
);
-- The first writer of a key wins.
CREATE UNIQUE INDEX entries_by_key ON entries (investigation, execution, iteration, position) WHERE superseded = 0;
CREATE INDEX entries_by_step ON entries (investigation, step, seq);

CREATE TABLE live (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    iteration     BIGINT NOT NULL,
    attempt       BIGINT NOT NULL,
    text          TEXT NOT NULL,
    thinking      TEXT NOT NULL,
    PRIMARY KEY (investigation, execution)
);

-- The usage of model calls. Rows of superseded entries remain, because their calls were paid for.
CREATE TABLE ledger (
    investigation TEXT COLLATE "C" NOT NULL,
    key           TEXT NOT NULL, -- <execution>/<iteration>[/<position>]/<run id>
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    usage         TEXT NOT NULL, -- JSON of agent.Usage
    PRIMARY KEY (investigation, key)
);

CREATE TABLE blobs (
    hash TEXT COLLATE "C" PRIMARY KEY, -- first 32 hex digits of the SHA-256
    data BYTEA NOT NULL
);

CREATE TABLE catalogues (
    investigation TEXT COLLATE "C" NOT NULL,
    execution     TEXT COLLATE "C" NOT NULL,
    server        TEXT COLLATE "C" NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL REFERENCES blobs (hash), -- JSON of tool.Catalogue
    PRIMARY KEY (investigation, execution, server)
);

CREATE TABLE investigations (
    id          TEXT COLLATE "C" PRIMARY KEY,
    workflow_id TEXT COLLATE "C" NOT NULL,
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
    started_at  BIGINT NOT NULL,
    ended_at    BIGINT
);
CREATE INDEX investigations_by_start ON investigations (started_at, id);
CREATE INDEX investigations_by_workflow ON investigations (workflow_id, started_at);

CREATE TABLE stages (
    investigation TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    idx           BIGINT NOT NULL,
    status        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    result        TEXT NOT NULL,
    error         TEXT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT,
    PRIMARY KEY (investigation, name)
);

CREATE TABLE executions (
    investigation TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    stage         TEXT NOT NULL,
    agent         TEXT NOT NULL,
    type          TEXT NOT NULL,
    llm_backend   TEXT NOT NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    status        TEXT NOT NULL,
    stop_reason   TEXT NOT NULL,
    forced        BOOLEAN NOT NULL,
    iterations    BIGINT NOT NULL,
    usage         TEXT NOT NULL,
    error         TEXT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT,
    PRIMARY KEY (investigation, name)
);

-- +goose Up

-- The audit log. Rows are added and never changed. The rows of an investigation form a hash chain.
CREATE TABLE audit (
    investigation TEXT COLLATE "C" NOT NULL, -- '' means that the act concerns no single investigation
    n             BIGINT NOT NULL, -- from 1
    at            BIGINT NOT NULL,
    what          TEXT NOT NULL,
    who           TEXT NOT NULL,
    channel       TEXT NOT NULL,
    execution     TEXT NOT NULL,
    call          TEXT NOT NULL,
    tool          TEXT NOT NULL,
    detail        TEXT NOT NULL, -- JSON, hashed in exactly this form
    key           TEXT COLLATE "C" NOT NULL, -- idempotency key; '' means that each act has its own row
    hash          TEXT NOT NULL, -- audit.Act.Sum, over this row and the hash of the previous one
    PRIMARY KEY (investigation, n)
);
CREATE UNIQUE INDEX audit_by_key ON audit (investigation, key) WHERE key <> '';
CREATE INDEX audit_by_time ON audit (at, investigation, n);

-- The last row of each chain, and the last row that an anchor covers.
CREATE TABLE audit_heads (
    investigation TEXT COLLATE "C" PRIMARY KEY,
    n             BIGINT NOT NULL,
    hash          TEXT NOT NULL,
    anchored      BIGINT NOT NULL
);
CREATE INDEX audit_heads_loose ON audit_heads (investigation) WHERE anchored < n;

-- Anchors: a chain over the ends of chains. The hash of the last anchor covers all rows before it.
CREATE TABLE audit_anchors (
    n     BIGINT PRIMARY KEY,
    at    BIGINT NOT NULL,
    marks TEXT NOT NULL, -- JSON of []audit.Mark
    hash  TEXT NOT NULL
);

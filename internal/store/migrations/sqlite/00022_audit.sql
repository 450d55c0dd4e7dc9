-- +goose Up

-- Who decided what. Rows are added and never changed; those of an investigation are a chain of hashes.
CREATE TABLE audit (
    investigation TEXT NOT NULL, -- '' = what concerns no single one
    n             INTEGER NOT NULL, -- from 1
    at            INTEGER NOT NULL,
    what          TEXT NOT NULL,
    who           TEXT NOT NULL,
    channel       TEXT NOT NULL,
    execution     TEXT NOT NULL,
    call          TEXT NOT NULL,
    tool          TEXT NOT NULL,
    detail        TEXT NOT NULL, -- JSON, hashed as it stands here
    key           TEXT NOT NULL, -- what is told twice is one row; '' = each is one
    hash          TEXT NOT NULL, -- audit.Act.Sum of the row before it
    PRIMARY KEY (investigation, n)
) STRICT;
CREATE UNIQUE INDEX audit_by_key ON audit (investigation, key) WHERE key <> '';
CREATE INDEX audit_by_time ON audit (at, investigation, n);

-- The last row of each chain, and up to which row an anchor knows it.
CREATE TABLE audit_heads (
    investigation TEXT PRIMARY KEY,
    n             INTEGER NOT NULL,
    hash          TEXT NOT NULL,
    anchored      INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_heads_loose ON audit_heads (investigation) WHERE anchored < n;

-- A chain over the ends of chains: the last one's hash stands for all rows up to it.
CREATE TABLE audit_anchors (
    n     INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    marks TEXT NOT NULL, -- JSON of []audit.Mark
    hash  TEXT NOT NULL
) STRICT;

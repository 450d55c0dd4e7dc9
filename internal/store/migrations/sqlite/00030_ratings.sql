-- +goose Up

-- People's ratings of ended investigations: record.Rating.
CREATE TABLE ratings (
    investigation TEXT NOT NULL,
    author        TEXT NOT NULL,
    claim         TEXT NOT NULL, -- of the report; empty means the whole investigation
    at            INTEGER NOT NULL,
    rating        TEXT NOT NULL,
    note          TEXT NOT NULL,
    PRIMARY KEY (investigation, author, claim)
) STRICT, WITHOUT ROWID;

-- Confirmations and contradictions of learnings: learning.Judgement.
CREATE TABLE learning_judgements (
    learning      INTEGER NOT NULL,
    investigation TEXT NOT NULL, -- that judged it
    at            INTEGER NOT NULL,
    confirms      INTEGER NOT NULL, -- 0: it contradicts
    undone        INTEGER NOT NULL, -- 1: it does not count
    PRIMARY KEY (learning, investigation)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_judgements_by_investigation ON learning_judgements (investigation);

-- 1: people have withdrawn everything that the investigation taught.
ALTER TABLE learning_runs ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;

-- +goose Up

-- The scores of investigations: one row for each request to score.
CREATE TABLE scores (
    investigation TEXT NOT NULL,
    n             INTEGER NOT NULL, -- from 1
    run_id        TEXT NOT NULL, -- run of the scoring workflow
    status        TEXT NOT NULL,
    score         INTEGER, -- 0 to 100; NULL means that there is no score yet
    judgement     TEXT NOT NULL, -- JSON of record.Judgement
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    PRIMARY KEY (investigation, n),
    UNIQUE (investigation, run_id)
) STRICT;

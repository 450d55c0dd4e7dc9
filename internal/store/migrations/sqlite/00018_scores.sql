-- +goose Up

-- How investigations were judged: each time that somebody asks for it is a row.
CREATE TABLE scores (
    investigation TEXT NOT NULL,
    n             INTEGER NOT NULL, -- from 1
    run_id        TEXT NOT NULL, -- of the workflow that judges
    status        TEXT NOT NULL,
    score         INTEGER, -- 0 to 100; NULL: there is none yet
    judgement     TEXT NOT NULL, -- JSON of record.Judgement
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    PRIMARY KEY (investigation, n),
    UNIQUE (investigation, run_id)
) STRICT;

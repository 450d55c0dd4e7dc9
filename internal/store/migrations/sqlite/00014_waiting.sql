-- +goose Up

-- What each investigation and conversation that has waited for people or providers waits for now.
CREATE TABLE waiting (
    investigation TEXT PRIMARY KEY, -- or a conversation
    workflow_id   TEXT NOT NULL,
    run_id        TEXT NOT NULL, -- that said so
    seq           INTEGER NOT NULL, -- which of the things that the run has said it is: a late attempt says nothing
    things        INTEGER NOT NULL, -- how many it waits for
    waits         TEXT NOT NULL     -- JSON of record.Waits
) STRICT;
CREATE INDEX waiting_now ON waiting (investigation) WHERE things > 0;

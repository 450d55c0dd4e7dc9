-- +goose Up

-- What each investigation and conversation currently waits for: people or providers.
CREATE TABLE waiting (
    investigation TEXT PRIMARY KEY, -- or a conversation
    workflow_id   TEXT NOT NULL,
    run_id        TEXT NOT NULL, -- the run that reported it
    seq           INTEGER NOT NULL, -- the number of the report among those of the run, so that a late attempt changes nothing
    things        INTEGER NOT NULL, -- number of pending items
    waits         TEXT NOT NULL     -- JSON of record.Waits
) STRICT;
CREATE INDEX waiting_now ON waiting (investigation) WHERE things > 0;

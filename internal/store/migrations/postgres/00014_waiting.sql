-- +goose Up

-- What each investigation and conversation currently waits for: people or providers.
CREATE TABLE waiting (
    investigation TEXT COLLATE "C" PRIMARY KEY, -- or a conversation
    workflow_id   TEXT COLLATE "C" NOT NULL,
    run_id        TEXT NOT NULL, -- the run that reported it
    seq           BIGINT NOT NULL, -- the number of the report among those of the run, so that a late attempt changes nothing
    things        BIGINT NOT NULL, -- number of pending items
    waits         TEXT NOT NULL     -- JSON of record.Waits
);
CREATE INDEX waiting_now ON waiting (investigation) WHERE things > 0;

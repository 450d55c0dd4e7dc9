-- +goose Up

-- What each investigation and conversation that has waited for people or providers waits for now.
CREATE TABLE waiting (
    investigation TEXT COLLATE "C" PRIMARY KEY, -- or a conversation
    workflow_id   TEXT COLLATE "C" NOT NULL,
    run_id        TEXT NOT NULL, -- that said so
    seq           BIGINT NOT NULL, -- which of the things that the run has said it is: a late attempt says nothing
    things        BIGINT NOT NULL, -- how many it waits for
    waits         TEXT NOT NULL     -- JSON of record.Waits
);
CREATE INDEX waiting_now ON waiting (investigation) WHERE things > 0;

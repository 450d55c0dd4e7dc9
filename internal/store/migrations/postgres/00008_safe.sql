-- +goose Up

-- One row per fact about the store itself: its identity.
CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

-- What an agent that may act says of itself: NULL = it has not said.
ALTER TABLE executions ADD COLUMN actions_executed BOOLEAN;

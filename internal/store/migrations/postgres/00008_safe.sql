-- +goose Up

-- One row per fact about the store itself, such as its identity.
CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

-- Whether an agent that can act reports that it acted. NULL means that it has not reported.
ALTER TABLE executions ADD COLUMN actions_executed BOOLEAN;

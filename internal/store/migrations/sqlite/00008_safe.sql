-- +goose Up

-- Whether an agent that can act reports that it acted. NULL means that it has not reported.
ALTER TABLE executions ADD COLUMN actions_executed INTEGER;

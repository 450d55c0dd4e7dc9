-- +goose Up

-- What an agent that may act says of itself: NULL = it has not said.
ALTER TABLE executions ADD COLUMN actions_executed INTEGER;

-- +goose Up

-- The run of the workflow that wrote the record: another one is a Temporal reset's.
ALTER TABLE investigations ADD COLUMN writer TEXT NOT NULL DEFAULT '';

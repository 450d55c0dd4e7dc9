-- +goose Up

-- The run of the workflow that wrote the record. A different run means a Temporal reset.
ALTER TABLE investigations ADD COLUMN writer TEXT NOT NULL DEFAULT '';

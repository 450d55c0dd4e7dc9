-- +goose Up

-- The number of the status among those of its run, so that a late attempt changes nothing.
ALTER TABLE investigations ADD COLUMN status_seq INTEGER NOT NULL DEFAULT 0;

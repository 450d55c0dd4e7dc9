-- +goose Up

-- Which of the statuses that its run has told it is: a late attempt tells nothing.
ALTER TABLE investigations ADD COLUMN status_seq INTEGER NOT NULL DEFAULT 0;

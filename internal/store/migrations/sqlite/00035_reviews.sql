-- +goose Up

-- Reviews of investigations: record.Review.
CREATE TABLE reviews (
    investigation TEXT NOT NULL PRIMARY KEY,
    assignee      TEXT NOT NULL,
    assigned_at   INTEGER, -- NULL: nobody has claimed it
    reviewer      TEXT NOT NULL,
    reviewed_at   INTEGER -- NULL: it is not reviewed
) STRICT, WITHOUT ROWID;

-- Nobody is asked to review what ended before there were reviews.
INSERT INTO reviews (investigation, assignee, reviewer, reviewed_at)
    SELECT id, '', '', ended_at FROM investigations WHERE ended_at IS NOT NULL;

ALTER TABLE ratings ADD COLUMN action_taken TEXT NOT NULL DEFAULT '';
-- Number of the claim in the evidence; 0 for the whole investigation.
ALTER TABLE ratings ADD COLUMN claim_number INTEGER NOT NULL DEFAULT 0;

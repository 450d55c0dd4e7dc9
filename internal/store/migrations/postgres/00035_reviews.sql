-- +goose Up

-- Reviews of investigations: record.Review.
CREATE TABLE reviews (
    investigation TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    assignee      TEXT COLLATE "C" NOT NULL,
    assigned_at   BIGINT, -- NULL: nobody has claimed it
    reviewer      TEXT NOT NULL,
    reviewed_at   BIGINT -- NULL: it is not reviewed
);

-- Nobody is asked to review what ended before there were reviews.
INSERT INTO reviews (investigation, assignee, reviewer, reviewed_at)
    SELECT id, '', '', ended_at FROM investigations WHERE ended_at IS NOT NULL;

ALTER TABLE ratings ADD COLUMN action_taken TEXT NOT NULL DEFAULT '';
-- Number of the claim in the evidence; 0 for the whole investigation.
ALTER TABLE ratings ADD COLUMN claim_number BIGINT NOT NULL DEFAULT 0;

-- +goose Up

-- Reviews of ended investigations: record.Review.
CREATE TABLE reviews (
    investigation TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run           TEXT COLLATE "C" NOT NULL, -- investigations.writer at that time: the result of another run needs a review of its own
    assignee      TEXT COLLATE "C" NOT NULL,
    assigned_at   BIGINT, -- NULL: nobody has claimed it
    reviewer      TEXT COLLATE "C" NOT NULL,
    reviewed_at   BIGINT -- NULL: the review is not complete
);
CREATE INDEX reviews_by_assignee ON reviews (assignee);

-- Nobody is asked to review what ended before there were reviews.
INSERT INTO reviews (investigation, run, assignee, reviewer, reviewed_at)
    SELECT id, writer, '', '', ended_at FROM investigations WHERE ended_at IS NOT NULL;

ALTER TABLE ratings ADD COLUMN action_taken TEXT NOT NULL DEFAULT '';
ALTER TABLE ratings ADD COLUMN run TEXT COLLATE "C" NOT NULL DEFAULT ''; -- whose result was rated; empty if it is not known

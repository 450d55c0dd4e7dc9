-- +goose Up

-- Reviews of ended investigations: record.Review.
CREATE TABLE reviews (
    investigation TEXT NOT NULL PRIMARY KEY,
    run           TEXT NOT NULL, -- investigations.writer at that time: the result of another run needs a review of its own
    assignee      TEXT NOT NULL,
    assigned_at   INTEGER, -- NULL: nobody has claimed it
    reviewer      TEXT NOT NULL,
    reviewed_at   INTEGER -- NULL: the review is not complete
) STRICT, WITHOUT ROWID;
CREATE INDEX reviews_by_assignee ON reviews (assignee);

-- Nobody is asked to review what ended before there were reviews.
INSERT INTO reviews (investigation, run, assignee, reviewer, reviewed_at)
    SELECT id, writer, '', '', ended_at FROM investigations WHERE ended_at IS NOT NULL;

ALTER TABLE ratings ADD COLUMN action_taken TEXT NOT NULL DEFAULT '';
ALTER TABLE ratings ADD COLUMN run TEXT NOT NULL DEFAULT ''; -- whose result was rated; empty if it is not known

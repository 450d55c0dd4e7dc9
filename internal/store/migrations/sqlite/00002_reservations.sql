-- +goose Up

-- The places that are taken in the sliding windows of rate limits. A row whose
-- time has come counts no more, and goes when the next one is written.
CREATE TABLE reservations (
    agent   TEXT NOT NULL,
    tool    TEXT NOT NULL,
    key     TEXT NOT NULL, -- <investigation>/<execution>/<iteration>/<position>
    ends_at INTEGER NOT NULL, -- microseconds since 1970 by the database's clock
    PRIMARY KEY (agent, tool, key)
) STRICT;
CREATE INDEX reservations_by_end ON reservations (ends_at);

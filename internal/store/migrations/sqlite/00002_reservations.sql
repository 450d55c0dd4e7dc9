-- +goose Up

-- The slots taken in the sliding windows of rate limits. A row past its ends_at no
-- longer counts. It is deleted when the next row is written.
CREATE TABLE reservations (
    agent   TEXT NOT NULL,
    tool    TEXT NOT NULL,
    key     TEXT NOT NULL, -- <investigation>/<execution>/<iteration>/<position>
    ends_at INTEGER NOT NULL, -- microseconds since 1970 by the database's clock
    PRIMARY KEY (agent, tool, key)
) STRICT;
CREATE INDEX reservations_by_end ON reservations (ends_at);

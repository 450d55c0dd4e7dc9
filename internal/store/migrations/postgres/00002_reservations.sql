-- +goose Up

-- The slots taken in the sliding windows of rate limits. A row past its ends_at no
-- longer counts. It is deleted when the next row is written.
CREATE TABLE reservations (
    agent   TEXT COLLATE "C" NOT NULL,
    tool    TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL, -- <investigation>/<execution>/<iteration>/<position>
    ends_at BIGINT NOT NULL, -- microseconds since 1970 by the database's clock
    PRIMARY KEY (agent, tool, key)
);
CREATE INDEX reservations_by_end ON reservations (ends_at);

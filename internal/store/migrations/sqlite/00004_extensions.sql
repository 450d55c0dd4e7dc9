-- +goose Up

-- Extensions: what people added to the limits of running investigations.
CREATE TABLE extensions (
    investigation TEXT NOT NULL,
    key           TEXT NOT NULL, -- the ID of the update
    extension     TEXT NOT NULL, -- JSON of agent.Extension
    PRIMARY KEY (investigation, key)
) STRICT;

-- +goose Up

-- What people have added to the bounds of running investigations.
CREATE TABLE extensions (
    investigation TEXT NOT NULL,
    key           TEXT NOT NULL, -- the update's id
    extension     TEXT NOT NULL, -- JSON of agent.Extension
    PRIMARY KEY (investigation, key)
) STRICT;

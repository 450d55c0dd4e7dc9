-- +goose Up

-- The tools that each server offered when any worker last listed them. Used to detect changes.
CREATE TABLE offers (
    server TEXT PRIMARY KEY,
    hash   TEXT NOT NULL REFERENCES blobs (hash) -- JSON of tool.Catalogue
) STRICT;

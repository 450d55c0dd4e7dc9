-- +goose Up

-- What each server offered when it was last asked, whoever asked: a change is noticed.
CREATE TABLE offers (
    server TEXT PRIMARY KEY,
    hash   TEXT NOT NULL REFERENCES blobs (hash) -- JSON of tool.Catalogue
) STRICT;

-- +goose Up

-- The tools that each server offered when any worker last listed them. Used to detect changes.
CREATE TABLE offers (
    server TEXT COLLATE "C" PRIMARY KEY,
    hash   TEXT COLLATE "C" NOT NULL REFERENCES blobs (hash) -- JSON of tool.Catalogue
);

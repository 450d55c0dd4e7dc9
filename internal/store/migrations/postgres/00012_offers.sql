-- +goose Up

-- What each server offered when it was last asked, whoever asked: a change is noticed.
CREATE TABLE offers (
    server TEXT COLLATE "C" PRIMARY KEY,
    hash   TEXT COLLATE "C" NOT NULL REFERENCES blobs (hash) -- JSON of tool.Catalogue
);

-- +goose Up

-- One row per fact about the store itself: its identity.
CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

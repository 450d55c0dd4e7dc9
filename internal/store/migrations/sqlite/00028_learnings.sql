-- +goose Up

-- Projects with learnings. The IDs of a project's learnings are learning_projects.id * 2^32 + a number from 1.
CREATE TABLE learning_projects (
    id      INTEGER PRIMARY KEY,
    project TEXT NOT NULL UNIQUE,
    last    INTEGER NOT NULL -- number of the newest learning
) STRICT;

-- What investigations teach later ones. See learning.Learning.
CREATE TABLE learnings (
    id            INTEGER PRIMARY KEY,
    investigation TEXT NOT NULL,    -- that taught it
    digest        TEXT NOT NULL,    -- hash of the words
    changed_at    INTEGER NOT NULL,
    withdrawn     INTEGER NOT NULL, -- 1: not used any more
    learning      TEXT NOT NULL,    -- JSON of learning.Learning, without the fields in other columns
    vector_model  TEXT NOT NULL,    -- model of the embedding; empty means none
    vector        BLOB NOT NULL     -- 32-bit floats, little-endian
) STRICT;
CREATE INDEX learnings_by_investigation ON learnings (investigation);
CREATE INDEX learnings_by_digest ON learnings (digest);

-- The words of the learnings that are in use, and how many of a project's learnings have each word.
CREATE VIRTUAL TABLE learning_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE TABLE learning_terms (
    project INTEGER NOT NULL, -- learning_projects.id
    term    TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (project, term)
) STRICT, WITHOUT ROWID;

-- Which investigation got which learning, and how: learning.How.
CREATE TABLE learning_reads (
    learning      INTEGER NOT NULL,
    investigation TEXT NOT NULL,
    how           TEXT NOT NULL,
    at            INTEGER NOT NULL,
    PRIMARY KEY (learning, investigation, how)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_reads_by_investigation ON learning_reads (investigation);

-- Investigations from which something was to be learned, once each, with the outcome: learning.Outcome.
CREATE TABLE learning_runs (
    investigation TEXT PRIMARY KEY,
    at            INTEGER NOT NULL,
    outcome       TEXT NOT NULL
) STRICT;

-- +goose Up

-- Projects with learnings. The IDs of a project's learnings are learning_projects.id * 2^32 + a number from 1.
CREATE TABLE learning_projects (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL UNIQUE,
    last    BIGINT NOT NULL -- number of the newest learning
);

-- What investigations teach later ones. See learning.Learning.
CREATE TABLE learnings (
    id            BIGINT PRIMARY KEY,
    investigation TEXT COLLATE "C" NOT NULL, -- that taught it
    digest        TEXT COLLATE "C" NOT NULL, -- hash of the words
    changed_at    BIGINT NOT NULL,
    withdrawn     BIGINT NOT NULL,           -- 1: not used any more
    learning      TEXT NOT NULL,             -- JSON of learning.Learning, without the fields in other columns
    vector_model  TEXT COLLATE "C" NOT NULL, -- model of the embedding; empty means none
    vector        BYTEA NOT NULL             -- 32-bit floats, little-endian
);
CREATE INDEX learnings_by_investigation ON learnings (investigation);
CREATE INDEX learnings_by_digest ON learnings (digest);

-- The words of the learnings that are in use, and how many of a project's learnings have each word.
CREATE TABLE learning_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX learning_words_index ON learning_words USING gin (words) WITH (fastupdate = off);
CREATE TABLE learning_terms (
    project BIGINT NOT NULL, -- learning_projects.id
    term    TEXT COLLATE "C" NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (project, term)
);

-- Which investigation got which learning, and how: learning.How.
CREATE TABLE learning_reads (
    learning      BIGINT NOT NULL,
    investigation TEXT COLLATE "C" NOT NULL,
    how           TEXT COLLATE "C" NOT NULL,
    at            BIGINT NOT NULL,
    PRIMARY KEY (learning, investigation, how)
);
CREATE INDEX learning_reads_by_investigation ON learning_reads (investigation);

-- Investigations from which something was to be learned, once each, with the outcome: learning.Outcome.
CREATE TABLE learning_runs (
    investigation TEXT COLLATE "C" PRIMARY KEY,
    at            BIGINT NOT NULL,
    outcome       TEXT NOT NULL
);

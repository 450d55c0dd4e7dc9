-- +goose Up

-- Agents with a memory, by the names of their definitions. The IDs of an agent's rows
-- are memories.id * 2^32 + a number from 1.
CREATE TABLE memories (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent         TEXT COLLATE "C" NOT NULL UNIQUE,
    archived      BIGINT NOT NULL, -- number of archival entries
    last_archived BIGINT NOT NULL, -- number of the newest archival entry
    last_said     BIGINT NOT NULL  -- number of the newest row in recall
);

CREATE TABLE memory_blocks (
    memory      BIGINT NOT NULL REFERENCES memories (id),
    label       TEXT COLLATE "C" NOT NULL,
    ordinal     BIGINT NOT NULL, -- position in order of creation
    value       TEXT NOT NULL,
    description TEXT NOT NULL,
    char_limit  BIGINT NOT NULL,
    read_only   BOOLEAN NOT NULL,
    PRIMARY KEY (memory, label)
);

CREATE TABLE archival (
    id      BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    content TEXT NOT NULL
);

-- Messages that agents can search for: transcript entries that are not superseded.
CREATE TABLE recall (
    id            BIGINT PRIMARY KEY,
    investigation TEXT COLLATE "C" NOT NULL,
    seq           BIGINT NOT NULL,
    UNIQUE (investigation, seq)
);

-- The words of both, by ID. Package memory has already split and normalised them, so no dictionary is needed.
CREATE TABLE archival_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX archival_words_index ON archival_words USING gin (words);
CREATE TABLE recall_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX recall_words_index ON recall_words USING gin (words);

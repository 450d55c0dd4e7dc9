-- +goose Up

-- Agents with a memory, by the names of their definitions. The IDs of an agent's rows
-- are memories.id * 2^32 + a number from 1.
CREATE TABLE memories (
    id            INTEGER PRIMARY KEY,
    agent         TEXT NOT NULL UNIQUE,
    archived      INTEGER NOT NULL, -- number of archival entries
    last_archived INTEGER NOT NULL, -- number of the newest archival entry
    last_said     INTEGER NOT NULL  -- number of the newest row in recall
) STRICT;

CREATE TABLE memory_blocks (
    memory      INTEGER NOT NULL REFERENCES memories (id),
    label       TEXT NOT NULL,
    ordinal     INTEGER NOT NULL, -- position in order of creation
    value       TEXT NOT NULL,
    description TEXT NOT NULL,
    char_limit  INTEGER NOT NULL,
    read_only   INTEGER NOT NULL,
    PRIMARY KEY (memory, label)
) STRICT;

CREATE TABLE archival (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    content TEXT NOT NULL
) STRICT;

-- Messages that agents can search for: transcript entries that are not superseded.
CREATE TABLE recall (
    id            INTEGER PRIMARY KEY,
    investigation TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    UNIQUE (investigation, seq)
) STRICT;

-- The words of both, by ID. Package memory has already split and normalised them, so the tokenizer has nothing to change.
CREATE VIRTUAL TABLE archival_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE recall_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');

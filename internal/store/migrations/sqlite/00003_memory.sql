-- +goose Up

-- Agents that remember, by the names of their definitions. The ids of what belongs
-- to one are memories.id * 2^32 + a number from 1.
CREATE TABLE memories (
    id            INTEGER PRIMARY KEY,
    agent         TEXT NOT NULL UNIQUE,
    archived      INTEGER NOT NULL, -- how many archival entries there are
    last_archived INTEGER NOT NULL, -- number of the newest one
    last_said     INTEGER NOT NULL  -- number of the newest row in recall
) STRICT;

CREATE TABLE memory_blocks (
    memory      INTEGER NOT NULL REFERENCES memories (id),
    label       TEXT NOT NULL,
    ordinal     INTEGER NOT NULL, -- in the order in which they were made
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

-- What was said and may be recalled: entries of the transcripts, none that is superseded.
CREATE TABLE recall (
    id            INTEGER PRIMARY KEY,
    investigation TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    UNIQUE (investigation, seq)
) STRICT;

-- The words of both, by id, as package memory finds them: nothing is left for a tokenizer to do.
CREATE VIRTUAL TABLE archival_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE recall_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');

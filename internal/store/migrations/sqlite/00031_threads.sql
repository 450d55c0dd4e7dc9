-- +goose Up

-- Conversations, open and closed. Ones from before this table get their row with their next turn.
CREATE TABLE threads (
    id          TEXT PRIMARY KEY,
    workflow_id TEXT NOT NULL,
    agent       TEXT NOT NULL,
    project     TEXT NOT NULL,
    about       TEXT NOT NULL,    -- ID of the investigation that it is about; '' means none
    turns       INTEGER NOT NULL, -- number of turns so far
    started_at  INTEGER NOT NULL,
    active_at   INTEGER NOT NULL, -- end of the last turn
    ended_at    INTEGER           -- NULL: its workflow has not reported an end
) STRICT;
CREATE INDEX threads_by_start ON threads (started_at, id);
CREATE INDEX threads_by_workflow ON threads (workflow_id, started_at);
CREATE INDEX threads_by_about ON threads (about) WHERE about <> '';

-- Their turns: a message, or a heartbeat, and how it was answered. The texts are in entries.
CREATE TABLE turns (
    id          INTEGER PRIMARY KEY,
    thread      TEXT NOT NULL,
    n           INTEGER NOT NULL, -- from 1
    message     TEXT NOT NULL,    -- ID of the message; '' means a heartbeat
    run_id      TEXT NOT NULL,    -- run of the workflow that recorded it
    turn        TEXT NOT NULL,    -- JSON of record.Turn, without the fields in other columns
    UNIQUE (thread, n)
) STRICT;
CREATE INDEX turns_by_message ON turns (thread, message) WHERE message <> '';

-- The words of their messages and replies, by turns.id.
CREATE VIRTUAL TABLE turn_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');

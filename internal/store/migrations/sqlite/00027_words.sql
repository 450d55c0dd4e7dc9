-- +goose Up

-- The searchable words of investigations, without their order: from the names, alert, error, report and summary as stored,
-- which are masked. n grows with the start time: milliseconds since 1970, times 128.
CREATE TABLE investigation_texts (
    n             INTEGER PRIMARY KEY,
    investigation TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE investigation_words
    USING fts5 (words, content = '', contentless_delete = 1, detail = none, prefix = '3 5 7 9 11', tokenize = 'ascii');

-- All words that occur, or have occurred. A search looks up which words begin with one of its own. If they are too many to query
-- individually, it queries the prefix: FTS5 then reads all rows of these words before it returns the first, unless the index above has
-- prefixes of that length.
CREATE TABLE investigation_terms (term TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Investigations whose words are missing or outdated. A program that knows the index keeps it up to date itself; the triggers are
-- for an older one that still writes.
CREATE TABLE investigations_unindexed (
    started_at    INTEGER NOT NULL,
    investigation TEXT NOT NULL,
    PRIMARY KEY (started_at, investigation)
) STRICT, WITHOUT ROWID;
INSERT INTO investigations_unindexed (started_at, investigation) SELECT started_at, id FROM investigations;

-- +goose StatementBegin
CREATE TRIGGER investigation_started AFTER INSERT ON investigations BEGIN
    INSERT INTO investigations_unindexed (started_at, investigation) VALUES (new.started_at, new.id) ON CONFLICT DO NOTHING;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER investigation_reworded AFTER UPDATE OF chain, alert_type, data_hash, metadata, error, report, started_at, ended_at
ON investigations BEGIN
    INSERT INTO investigations_unindexed (started_at, investigation) VALUES (new.started_at, new.id) ON CONFLICT DO NOTHING;
END;
-- +goose StatementEnd

-- +goose Up

-- The searchable words of investigations, without their order: from the names, alert, error, report and summary as stored,
-- which are masked. n grows with the start time: milliseconds since 1970, times 128.
CREATE TABLE investigation_texts (
    n             BIGINT PRIMARY KEY,
    investigation TEXT COLLATE "C" NOT NULL UNIQUE
);
-- Words have their own table, because a search reads rows but only the index of words. The index has no list of pending entries,
-- which each search would have to read.
CREATE TABLE investigation_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL) WITH (toast_tuple_target = 128);
CREATE INDEX investigation_words_index ON investigation_words USING gin (words) WITH (fastupdate = off);

-- Investigations whose words are missing or outdated. A program that knows the index keeps it up to date itself; the triggers are
-- for an older one that still writes.
CREATE TABLE investigations_unindexed (
    started_at    BIGINT NOT NULL,
    investigation TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (started_at, investigation)
);

-- +goose StatementBegin
CREATE FUNCTION investigation_to_index() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO investigations_unindexed (started_at, investigation) VALUES (new.started_at, new.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER investigation_started AFTER INSERT ON investigations FOR EACH ROW EXECUTE FUNCTION investigation_to_index();
CREATE TRIGGER investigation_reworded AFTER UPDATE OF chain, alert_type, data_hash, metadata, error, report, started_at, ended_at
ON investigations FOR EACH ROW EXECUTE FUNCTION investigation_to_index();

-- This runs after the triggers were created, which waits for writing transactions. So no row is missed between the two.
INSERT INTO investigations_unindexed (started_at, investigation) SELECT started_at, id FROM investigations ON CONFLICT DO NOTHING;

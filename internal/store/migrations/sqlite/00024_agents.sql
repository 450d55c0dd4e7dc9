-- +goose Up

-- Run-time agents: each version is a row, and the last version applies.
CREATE TABLE virtual_agents (
    project    TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL, -- from 1
    made_by    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    deleted    INTEGER NOT NULL, -- 1: this version deletes the agent
    definition TEXT NOT NULL,    -- JSON of virtual.Definition
    PRIMARY KEY (project, name, version)
) STRICT;

-- Trigram index of the texts that searches of investigation lists match. (Rowids would be shorter, but VACUUM
-- changes the rowids of investigations.)
CREATE VIRTUAL TABLE investigation_names USING fts5 (id UNINDEXED, name, tokenize = 'trigram case_sensitive 1');
INSERT INTO investigation_names (id, name) SELECT id, workflow_id || ' ' || chain || ' ' || alert_type FROM investigations;

-- +goose StatementBegin
CREATE TRIGGER investigation_named AFTER INSERT ON investigations BEGIN
    INSERT INTO investigation_names (id, name) VALUES (new.id, new.workflow_id || ' ' || new.chain || ' ' || new.alert_type);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER investigation_renamed AFTER UPDATE OF workflow_id, chain, alert_type ON investigations
WHEN old.workflow_id <> new.workflow_id OR old.chain <> new.chain OR old.alert_type <> new.alert_type BEGIN
    UPDATE investigation_names SET name = new.workflow_id || ' ' || new.chain || ' ' || new.alert_type WHERE id = new.id;
END;
-- +goose StatementEnd

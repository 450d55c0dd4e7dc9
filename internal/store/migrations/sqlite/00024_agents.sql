-- +goose Up

-- Agents that are made at run time: each version is a row, and the last one counts.
CREATE TABLE virtual_agents (
    project    TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL, -- from 1
    made_by    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    deleted    INTEGER NOT NULL, -- 1 = there is none from then on
    definition TEXT NOT NULL,    -- JSON of virtual.Definition
    PRIMARY KEY (project, name, version)
) STRICT;

-- The texts that lists of investigations are searched for, by each three characters in a row. (Rowids would be shorter; VACUUM
-- changes those of investigations.)
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

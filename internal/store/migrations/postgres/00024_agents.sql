-- +goose Up

-- Agents that are made at run time: each version is a row, and the last one counts.
CREATE TABLE virtual_agents (
    project    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL, -- from 1
    made_by    TEXT NOT NULL,
    at         BIGINT NOT NULL,
    deleted    BOOLEAN NOT NULL, -- there is none from then on
    definition TEXT NOT NULL,    -- JSON of virtual.Definition
    PRIMARY KEY (project, name, version)
);

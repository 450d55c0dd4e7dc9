-- +goose Up

-- Run-time agents: each version is a row, and the last version applies.
CREATE TABLE virtual_agents (
    project    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL, -- from 1
    made_by    TEXT NOT NULL,
    at         BIGINT NOT NULL,
    deleted    BOOLEAN NOT NULL, -- this version deletes the agent
    definition TEXT NOT NULL,    -- JSON of virtual.Definition
    PRIMARY KEY (project, name, version)
);

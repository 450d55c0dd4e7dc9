-- +goose Up

-- Extensions: what people added to the limits of running investigations.
CREATE TABLE extensions (
    investigation TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL, -- the ID of the update
    extension     TEXT NOT NULL, -- JSON of agent.Extension
    PRIMARY KEY (investigation, key)
);

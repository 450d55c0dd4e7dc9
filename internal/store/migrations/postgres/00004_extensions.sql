-- +goose Up

-- What people have added to the bounds of running investigations.
CREATE TABLE extensions (
    investigation TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL, -- the update's id
    extension     TEXT NOT NULL, -- JSON of agent.Extension
    PRIMARY KEY (investigation, key)
);

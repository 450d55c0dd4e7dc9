-- +goose Up

-- What the fleet knows of each model: whether it is asked. See circuit.State.
CREATE TABLE circuits (
    provider TEXT COLLATE "C" NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    state    TEXT NOT NULL, -- JSON
    PRIMARY KEY (provider, model)
);

-- +goose Up

-- The circuit breaker of each model, shared by all workers. See circuit.State.
CREATE TABLE circuits (
    provider TEXT NOT NULL,
    model    TEXT NOT NULL,
    state    TEXT NOT NULL, -- JSON
    PRIMARY KEY (provider, model)
) STRICT;

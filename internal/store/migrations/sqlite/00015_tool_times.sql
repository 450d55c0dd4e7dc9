-- +goose Up

-- Histogram of the durations of each tool's recent calls, in milliseconds. Older calls
-- have less weight. See tool.Times.
CREATE TABLE tool_times (
    tool   TEXT PRIMARY KEY,
    ms_1 REAL NOT NULL,
    ms_2 REAL NOT NULL,
    ms_5 REAL NOT NULL,
    ms_10 REAL NOT NULL,
    ms_20 REAL NOT NULL,
    ms_50 REAL NOT NULL,
    ms_100 REAL NOT NULL,
    ms_200 REAL NOT NULL,
    ms_500 REAL NOT NULL,
    ms_1000 REAL NOT NULL,
    ms_2000 REAL NOT NULL,
    ms_5000 REAL NOT NULL,
    slower REAL NOT NULL
) STRICT;

module github.com/inquest-dev/inquest/test/tools/misspell

go 1.26.8

tool github.com/golangci/misspell/cmd/misspell

require github.com/golangci/misspell v0.8.0 // indirect

package config

import (
	"bytes"

	"github.com/joho/godotenv"

	"github.com/inquest-dev/inquest/internal/strict"
)

const dotenvName = ".env"

func isDotenv(f strict.File) bool { return f.Name == dotenvName }

// withDotenv adds the variables of a .env among the files to the environment,
// which wins. A nil environment is an empty one.
func withDotenv(env Env, files []strict.File, r *strict.Report) Env {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	added := map[string]string{}
	for _, f := range files {
		if isDotenv(f) && f.Usable(r) {
			added = parseDotenv(f, r)
		}
	}
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := added[name]
		return value, ok
	}
}

// parseDotenv keeps the parser's own message to itself: it quotes the file,
// and the file is where keys are.
func parseDotenv(f strict.File, r *strict.Report) map[string]string {
	vars, err := godotenv.Parse(bytes.NewReader(f.Data))
	if err != nil {
		r.Unreadable(f.Name, 0, "not a list of NAME=value lines")
		return nil
	}
	return vars
}

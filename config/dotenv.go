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
			var err error
			if added, err = godotenv.Parse(bytes.NewReader(f.Data)); err != nil { // its own message quotes the file, where keys are
				r.Unreadable(f.Name, 0, "not a list of NAME=value lines")
			}
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

// Dotenv is a .env file with these variables, as a configuration's folder may have one.
func Dotenv(variables map[string]string) (string, error) {
	text, err := godotenv.Marshal(variables)
	return text + "\n", err
}

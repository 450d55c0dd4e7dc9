package config

import (
	"bytes"

	"github.com/joho/godotenv"

	"github.com/inquest-dev/inquest/internal/strict"
)

const dotenvName = ".env"

func isDotenv(f strict.File) bool { return f.Name == dotenvName }

// withDotenv adds the variables of a .env file, if there is one, to the environment. Variables of the environment take
// precedence. A nil environment counts as empty.
func withDotenv(env Env, files []strict.File, r *strict.Report) Env {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	added := map[string]string{}
	for _, f := range files {
		if isDotenv(f) && f.Usable(r) {
			var err error
			if added, err = godotenv.Parse(bytes.NewReader(f.Data)); err != nil { // its message quotes the file, which holds keys
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

// Dotenv returns the text of a .env file with these variables.
func Dotenv(variables map[string]string) (string, error) {
	text, err := godotenv.Marshal(variables)
	return text + "\n", err
}

package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash changes when the prompt of agents with a template changes: with another version of the templates, or with other
// instructions.
func Hash(name string, instructions ...string) (string, error) {
	hash := sha256.New()
	for _, file := range []string{"system/parts", "system/" + name, "task/parts", "task/" + name} {
		text, err := files.ReadFile("templates/" + file + ".tmpl")
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	fmt.Fprintf(hash, "%q", append(instructions, ScoreReminder, MissingTools))
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

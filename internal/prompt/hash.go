package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash tells what agents with a template are told from what they were told otherwise: by another version of the
// templates, or by other instructions.
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

package payload

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Variables with keys. There is no flag, because other users can read command lines.
const (
	VariableKeys     = "INQUEST_ENCRYPTION_KEYS"      // id:key, several separated by blanks or commas
	VariableKeysFile = "INQUEST_ENCRYPTION_KEYS_FILE" // a file with the same, one on each line
)

const (
	keySize     = 32 // bytes: AES-256
	unencrypted = "none"
)

// Keys encrypt and decrypt data that Temporal stores. The first key encrypts, all decrypt. If the first is "none", nothing is
// encrypted. The zero value has no keys.
type Keys struct {
	first   string
	ciphers map[string]cipher.AEAD // by ID
}

var keyID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// LoadKeys reads the keys that the environment names. Having none is not an error.
func LoadKeys(getenv func(string) string) (Keys, error) {
	text, file, from := getenv(VariableKeys), getenv(VariableKeysFile), VariableKeys
	if text != "" && file != "" {
		return Keys{}, fmt.Errorf("%s and %s are both set: set only one of them", VariableKeys, VariableKeysFile)
	}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return Keys{}, fmt.Errorf("%s: %w", VariableKeysFile, err)
		}
		text, from = string(data), VariableKeysFile+" "+file
	}
	keys, err := ParseKeys(text)
	if err == nil && file != "" && keys.first == "" {
		err = errors.New("the file contains no key")
	}
	if err != nil {
		return Keys{}, fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil
}

// ParseKeys parses id:key, several separated by blanks, commas or newlines. Lines that begin with # are comments. Errors contain
// IDs, never keys.
func ParseKeys(text string) (Keys, error) {
	keys := Keys{ciphers: map[string]cipher.AEAD{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			if err := keys.add(word); err != nil {
				return Keys{}, err
			}
		}
	}
	return keys, nil
}

func (k *Keys) add(word string) error {
	if word == unencrypted && k.first == "" {
		k.first = unencrypted
		return nil
	}
	id, encoded, ok := strings.Cut(word, ":")
	if !ok || !keyID.MatchString(id) {
		return errors.New("write each key as id:key, with an id of at most 64 characters (A-Z a-z 0-9 _ . -) " +
			"and a key of 32 bytes in base64 (openssl rand -base64 32)")
	}
	if _, taken := k.ciphers[id]; taken {
		return fmt.Errorf("the key %s is given twice", id)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != keySize { // the decoder's error could quote the key
		return fmt.Errorf("the key %s is not %d bytes in base64 (openssl rand -base64 32)", id, keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return fmt.Errorf("the key %s: %w", id, err)
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		return fmt.Errorf("the key %s: %w", id, err)
	}
	if k.first == "" {
		k.first = id
	}
	k.ciphers[id] = sealer
	return nil
}

// Encrypting reports whether there is a key for encryption.
func (k Keys) Encrypting() bool { return k.first != "" && k.first != unencrypted }

// Any reports whether there are any keys.
func (k Keys) Any() bool { return len(k.ciphers) > 0 }

// String describes the keys without revealing them.
func (k Keys) String() string {
	if k.first == "" {
		return "no keys"
	}
	return fmt.Sprintf("keys: %d, %s encrypts", len(k.ciphers), k.first)
}

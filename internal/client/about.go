package client

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

const (
	readOfData = 8 << 10 // bytes of data to search for a title
	maxAbout   = 200     // characters
)

// aboutAll describes each investigation in one line, based on its stored data, which is masked.
func aboutAll(ctx context.Context, st *store.Store, all []record.Investigation) (map[string]string, error) {
	var hashes []string
	for _, r := range all {
		if r.DataHash != "" {
			hashes = append(hashes, r.DataHash)
		}
	}
	data, err := st.Beginnings(ctx, hashes, readOfData)
	out := map[string]string{}
	for _, r := range all {
		if line := about(data[r.DataHash]); line != "" {
			out[r.ID] = line
		}
	}
	return out, err
}

// About describes an investigation in one line. An empty string means unknown.
func About(ctx context.Context, st *store.Store, r record.Investigation) string {
	all, _ := aboutAll(ctx, st, []record.Investigation{r})
	return all[r.ID]
}

// titles are the fields that summarize an alert in one line, best first.
var titles = []string{"title", "summary", "alertname", "name", "description", "message"}

// about describes data in one line: the first title field if the data is JSON, which may be truncated, else the first line.
func about(data []byte) string {
	found := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	key, inObject := "", []bool{}
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				inObject = append(inObject, token == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			key = ""
		case string:
			if len(inObject) > 0 && inObject[len(inObject)-1] && key == "" {
				key = strings.ToLower(token)
				continue
			}
			if found[key] == "" {
				found[key] = token
			}
			key = ""
		default:
			key = ""
		}
	}
	for _, title := range titles {
		if line := firstLine(found[title]); line != "" {
			return line
		}
	}
	if text := strings.TrimSpace(string(data)); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return clip.Line(strings.Join(strings.Fields(text), " "), maxAbout)
	}
	return firstLine(string(data))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip.Line(strings.Join(strings.Fields(strings.TrimLeft(line, "#*- ")), " "), maxAbout)
}

// Package logline parses log lines for the incident's server and for the scripted agents.
package logline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Line is one line of a log. Lines that are neither JSON nor logfmt belong to the line before them and have its time and level.
type Line struct {
	Service, Level, Msg string
	At                  time.Time
	Fields              map[string]string
	Raw                 string
}

// Levels are the levels, lowest first.
var Levels = [...]string{"debug", "info", "warn", "error", "fatal"}

// Rank returns the index of a level in Levels, or -1 if it is unknown.
func Rank(level string) int {
	level = strings.ToLower(level)
	if level == "warning" {
		level = "warn"
	}
	return slices.Index(Levels[:], level)
}

// Parse parses a whole log and keeps the order of its lines.
func Parse(service, text string) []Line {
	var out []Line
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\r\n")
		if raw == "" {
			continue
		}
		line, ok := ParseLine(raw)
		if !ok && len(out) > 0 {
			before := out[len(out)-1]
			line.At, line.Level = before.At, before.Level
		}
		line.Service = service
		out = append(out, line)
	}
	return out
}

// ParseLine parses a JSON or logfmt line. ok is false if it has no time or no level.
func ParseLine(raw string) (line Line, ok bool) {
	line = Line{Raw: raw, Msg: raw}
	fields := logfmt(raw)
	if strings.HasPrefix(raw, "{") {
		fields = jsonFields(raw)
	}
	at, err := time.Parse(time.RFC3339Nano, fields["ts"])
	if err != nil || Rank(fields["level"]) < 0 {
		return line, false
	}
	line.At, line.Level, line.Msg, line.Fields = at, strings.ToLower(fields["level"]), fields["msg"], fields
	return line, true
}

func jsonFields(raw string) map[string]string {
	var values map[string]any
	dec := json.NewDecoder(bytes.NewReader([]byte(raw)))
	dec.UseNumber() // 12 stays "12"
	if dec.Decode(&values) != nil {
		return nil
	}
	fields := make(map[string]string, len(values))
	for name, value := range values {
		fields[name] = fmt.Sprint(value)
	}
	return fields
}

// logfmt parses key=value pairs. Values with spaces are quoted as in Go.
func logfmt(raw string) map[string]string {
	fields := map[string]string{}
	for rest := strings.TrimSpace(raw); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		value, quoted := after, ""
		if q, err := strconv.QuotedPrefix(after); err == nil {
			quoted = q
			value, _ = strconv.Unquote(q)
		} else {
			value, _, _ = strings.Cut(after, " ")
			quoted = value
		}
		fields[key] = value
		rest = after[len(quoted):]
	}
	return fields
}

// Stamp formats a time as in the incident's files.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

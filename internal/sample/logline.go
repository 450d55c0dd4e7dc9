package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logLine is one line of a log. Lines that are neither JSON nor logfmt belong to
// the line before them and have its time and level.
type logLine struct {
	service, level, msg string
	at                  time.Time
	fields              map[string]string
	raw                 string
}

// levels are in rising order.
var levels = [...]string{"debug", "info", "warn", "error", "fatal"}

// rank orders levels; an unknown one is -1.
func rank(level string) int {
	level = strings.ToLower(level)
	if level == "warning" {
		level = "warn"
	}
	return slices.Index(levels[:], level)
}

// parseLog reads a whole log, in the order of its lines.
func parseLog(service, text string) []logLine {
	var out []logLine
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\r\n")
		if raw == "" {
			continue
		}
		line, ok := parseLine(raw)
		if !ok && len(out) > 0 {
			before := out[len(out)-1]
			line.at, line.level = before.at, before.level
		}
		line.service = service
		out = append(out, line)
	}
	return out
}

// parseLine reads a JSON or logfmt line; ok is false if it has no time and level.
func parseLine(raw string) (line logLine, ok bool) {
	line = logLine{raw: raw, msg: raw}
	fields := logfmt(raw)
	if strings.HasPrefix(raw, "{") {
		fields = jsonFields(raw)
	}
	at, err := time.Parse(time.RFC3339Nano, fields["ts"])
	if err != nil || rank(fields["level"]) < 0 {
		return line, false
	}
	line.at, line.level, line.msg, line.fields = at, strings.ToLower(fields["level"]), fields["msg"], fields
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

// logfmt reads key=value pairs; values with spaces are quoted as in Go.
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

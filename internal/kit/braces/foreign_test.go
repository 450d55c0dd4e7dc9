package braces

import (
	"fmt"
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${API_TOKEN}":                "<API_TOKEN>",
		"$GITHUB_TOKEN":               "<GITHUB_TOKEN>",
		"$env:GITHUB_TOKEN":           "<GITHUB_TOKEN>",
		"%APPDATA%":                   "<APPDATA>",
		`%APPDATA%\npm`:               `<APPDATA>\npm`,
		"${env:my_key}":               "<my_key>",
		"{env:OPEN_KEY}":              "<OPEN_KEY>",
		"${input:api-key}":            "<API_KEY>",
		"${input:1password}":          "<INPUT_1PASSWORD>",
		"${workspaceFolder}/data":     "<workspaceFolder>/data",
		"Bearer ${TOKEN}":             "Bearer <TOKEN>",
		"Bearer $TOKEN":               "Bearer <TOKEN>",
		"https://${HOST}:${PORT}/mcp": "https://<HOST>:<PORT>/mcp",
		"https://%HOST%/mcp":          "https://<HOST>/mcp",
		"$AA:$BB":                     "<AA>:<BB>",
		"KEY=${KEY}":                  "KEY=<KEY>",
		"${URL:-http://localhost:1}":  "<URL|http://localhost:1>",
		"${URL-}":                     "<URL|>",
		"${A:-${B}}":                  "<>",
		"${file:/run/secret}":         "<>",
		"":                            "",
		"$5":                          "$5",
		"US$100 or $20":               "US$100 or $20",
		"pa$$word":                    "pa$$word",
		"pa$WORD":                     "pa$WORD",
		"p$Ab":                        "p$Ab",
		"100% %5 %":                   "100% %5 %",
		"a%20b%ABCD%20":               "a%20b%ABCD%20",
		"%Y-%m-%dT%H:%M:%S":           "%Y-%m-%dT%H:%M:%S",
		"LIKE '%ERROR%'":              "LIKE '%ERROR%'",
		"^a{2}$":                      "^a{2}$",
		"(foo|bar)$":                  "(foo|bar)$",
		"${1}-$2":                     "${1}-$2",
		"$${ESCAPED}":                 "$${ESCAPED}",
		"{{.OURS}}":                   "{{.OURS}}",
		`{{"${LITERAL}"}}`:            `{{"${LITERAL}"}}`,
		"$(command)":                  "$(command)",
	} {
		got := ReplaceForeign(text, func(f Foreign) string {
			if f.Default != nil {
				return "<" + f.Name + "|" + *f.Default + ">"
			}
			return "<" + f.Name + ">"
		})
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A default may be a secret.
func TestForeignHidesDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"${KEY:-hunter2}", "${KEY:-a${hunter2}}", "${KEY-hunter2}"} {
		for _, f := range ForeignIn(text) {
			if strings.Contains(f.Text, "hunter2") || !strings.HasPrefix(f.Text, "${") {
				t.Errorf("%s: %s", text, f.Text)
			}
		}
	}
}

func TestForeignInArgument(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AUTH": "x"}
	for _, tt := range []struct {
		command string
		args    []string
		want    string // of the last argument
	}{
		{"npx", []string{"-y", "x", "${DB_URL}"}, "DB_URL"},
		{"docker", []string{"run", "-e", "TOKEN=${TOKEN}"}, "TOKEN"},
		{"sh", []string{"-c", "echo $HOME"}, ""},
		{"/bin/bash", []string{"-lc", "exec server --url ${URL}"}, ""},
		{`C:\Windows\System32\CMD.EXE`, []string{"/c", "%APPDATA%"}, ""},
		{"docker", []string{"run", "image", "sh", "-c", "server $URL"}, ""},
		{"node", []string{"-e", "console.log(`${HOME}`)"}, ""},
		{"x", []string{"--query", "sum(rate(a{b=\"${C}\"}[5m]))"}, ""},
		{"npx", []string{"mcp-remote", "https://h/mcp", "--header", "Authorization:${AUTH}"}, ""},
		{"npx", []string{"mcp-remote@1.2.3", "https://h/mcp", "--header", "X-Key: ${OTHER}"}, "OTHER"},
		{"npx", []string{"-y", "x", "--header", "Authorization:${AUTH}"}, "AUTH"},
	} {
		var names []string
		for _, f := range ForeignInArgument(tt.command, tt.args, len(tt.args)-1, env) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", fmt.Sprint(tt.command, tt.args), got, tt.want)
		}
	}
}

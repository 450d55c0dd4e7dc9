package mask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// planted is a secret that no generated text contains by chance. plants holds it in spellings that must be recognised on lines of
// their own, whatever surrounds them.
const planted = "Pl4ntedS3cretXq7"

var plants = []string{
	"password: " + planted,
	"DB_PASSWORD=" + planted,
	"export API_KEY='" + planted + "'",
	`{"client_secret": "` + planted + `"}`,
	`{"clientSecret":"` + planted + `","a":1}`,
	`"{\"token\":\"` + planted + `\"}"`,
	"Authorization: Bearer " + planted,
	"curl -H 'X-Api-Key: " + planted + "' https://example.com",
	"https://example.com/x?access_token=" + planted + "&page=2",
	"postgres://app:" + planted + "@db:5432/x",
	"ghp_" + planted + planted,
	"xoxb-123-" + planted,
	"<secret_key>" + planted + "</secret_key>",
	"mysql --password " + planted,
	planted + "@example.com",
	"-----BEGIN PRIVATE KEY-----\n" + planted + "\n-----END PRIVATE KEY-----",
	"- name: SMTP_PASS\n  value: " + planted,
	"passphrase: |\n  first\n  " + planted,
}

var secretPlants = []string{
	"---\nkind: Secret\ndata:\n  x: " + planted + "\n---",
	"---\napiVersion: v1\nstringData:\n  x: |\n    a\n    " + planted + "\n  y: z\nkind: Secret\n---",
	`{"kind":"Secret","data":{"x":"` + planted + `"}}`,
	`{"data":{"x":"` + planted + `"},"kind":"Secret"}`,
	`"{\"kind\":\"Secret\",\"data\":{\"x\":\"` + planted + `\"}}"`,
	`{'kind': 'Secret', 'data': {'x': '` + planted + `'}}`,
}

// FuzzText: a planted secret never survives, whatever surrounds it, and masking twice changes nothing more.
func FuzzText(f *testing.F) {
	m := masker(f, "all")
	for _, p := range append(plants, secretPlants...) {
		f.Add(p, uint8(0), "")
	}
	for _, seed := range hostile() {
		f.Add(seed, uint8(3), seed)
	}
	f.Fuzz(func(t *testing.T, before string, which uint8, after string) {
		if strings.Contains(before+after, planted) {
			return
		}
		plant := plants[int(which)%len(plants)]
		got := once(t, m, before+"\n"+plant+"\n"+after)
		if strings.Contains(got, planted) {
			t.Errorf("%q survives in %q", plant, got)
		}
		for kind := range kinds {
			one := &Masker{on: setOf(kind)}
			once(t, one, before+after)
		}
	})
}

// FuzzYAML: the data of a Secret does not survive between other lines.
func FuzzYAML(f *testing.F) {
	m := masker(f, "kubernetes")
	for i, p := range secretPlants {
		f.Add(p, uint8(i), "kind: ConfigMap\ndata:\n  a: b\n")
	}
	f.Add("data:\n- {a: [b\n", uint8(0), "}\n  kind: Secret\n data: |\n x")
	f.Fuzz(func(t *testing.T, before string, which uint8, after string) {
		if strings.Contains(before+after, planted) {
			return
		}
		plant := secretPlants[int(which)%2]
		got := once(t, m, before+"\n"+plant+"\n"+after)
		if strings.Contains(got, planted) {
			t.Errorf("%q survives in %q", plant, got)
		}
	})
}

// FuzzJSON: JSON stays valid, and neither a secret value nor a Kubernetes Secret survives in it.
func FuzzJSON(f *testing.F) {
	m := masker(f, "all")
	f.Add(`{"a":[1,{"b":null}]}`, "name")
	f.Add(`["--password","x",{"name":"DB_PASSWORD","value":5}]`, "x")
	f.Add(`"{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}"`, "y")
	f.Fuzz(func(t *testing.T, raw, text string) {
		if !json.Valid([]byte(raw)) || !utf8.ValidString(text) || strings.Contains(raw+text, planted) {
			return
		}
		raw = fmt.Sprintf(`{"text":%s,"x":%s,"password":%q,"object":{"data":{"k":%q,"list":[%s]},"kind":"Secret"},"args":["--token","%s"]}`,
			quoted(text), raw, planted, planted, quoted(planted+text), planted)
		got, err := m.JSON(t.Context(), json.RawMessage(raw))
		if err != nil || !json.Valid(got) {
			t.Fatalf("%v: %s", err, got)
		}
		if strings.Contains(string(got), planted) {
			t.Errorf("survives in %s", got)
		}
		second, err := m.JSON(t.Context(), got)
		if err != nil || string(second) != string(got) {
			t.Errorf("%v: not idempotent:\n%s\n%s", err, got, second)
		}
	})
}

// once masks a text, and checks that a second masking changes nothing.
func once(t *testing.T, m *Masker, text string) string {
	t.Helper()
	got, err := m.Text(t.Context(), text)
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	second, err := m.Text(t.Context(), got)
	if err != nil || second != got {
		t.Errorf("%v: not idempotent: %q then %q", err, got, second)
	}
	return got
}

func masker(t testing.TB, groups ...string) *Masker {
	t.Helper()
	names, err := Expand(groups, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &Masker{}
	for _, name := range names {
		k, _ := kindOf(name)
		m.on |= setOf(k)
	}
	return m
}

// hostile returns texts that are hard to parse.
func hostile() []string {
	return []string{
		"", "\x00", "\xff\xfe: \xff", "password:", "password=\\", `"password": "`, "password: |", "password: |\n", `password: "\`, "token: [",
		"token: [[MASKED_TOKEN]]",
		"{", "{{{{", "}}}}", "[MASKED", "[MASKED_", "[MASKED_X]", `{"kind":"Secret","data":`, "kind: Secret\ndata:", "data:\nkind: Secret",
		"- - - a:\n", "-----BEGIN ", "-----BEGIN X-----",
		"://@", "a://b:c@", "@", "@@@", "a@b.cc@d.ee", "eyJ", "Bearer ", "Basic Basic Basic",
		"-u a:b", "--password", "--password=--password", `\"\\\"\\\\\"`, "password=>:=>", "a\r\npassword: x\r\n",
	}
}

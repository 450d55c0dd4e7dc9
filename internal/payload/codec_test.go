package payload_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/inquest-dev/inquest/internal/payload"
)

const (
	keyA = "a:b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE="
	keyB = "b:bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE="
)

func keysOf(t *testing.T, text string) payload.Keys {
	t.Helper()
	keys, err := payload.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "keys"), filepath.Join(dir, "empty")
	for name, text := range map[string]string{file: "# of the fleet\n" + keyA + "\n" + keyB + "\n", empty: "# none yet\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct{ keys, file, want, wrong string }{
		"none":         {want: "no keys"},
		"one":          {keys: keyA, want: "keys: 1, a encrypts"},
		"two":          {keys: keyB + ", " + keyA, want: "keys: 2, b encrypts"},
		"not yet":      {keys: "none " + keyA, want: "keys: 1, none encrypts"},
		"a file":       {file: file, want: "keys: 2, a encrypts"},
		"both":         {keys: keyA, file: file, wrong: "are both set"},
		"no file":      {file: file + "x", wrong: "no such file"},
		"empty file":   {file: empty, wrong: "the file contains no key"},
		"no id":        {keys: keyA[2:], wrong: "write each key as id:key"},
		"short":        {keys: "a:b2xk", wrong: "the key a is not 32 bytes"},
		"not base64":   {keys: "a:" + strings.Repeat("hunter2!", 5), wrong: "the key a is not 32 bytes"},
		"twice":        {keys: keyA + " " + keyA, wrong: "the key a is given twice"},
		"none is last": {keys: keyA + " none", wrong: "write each key as id:key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := payload.LoadKeys(func(name string) string {
				return map[string]string{payload.VariableKeys: test.keys, payload.VariableKeysFile: test.file}[name]
			})
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) || err == nil &&
				keys.String() != test.want {
				t.Errorf("got %v, %v", keys, err)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), keyA[2:])) {
				t.Errorf("the error quotes a key: %v", err)
			}
		})
	}
}

func TestCodec(t *testing.T) {
	t.Parallel()
	plain := []*common.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"hunter2"`)}}
	both, first := keysOf(t, keyB+" "+keyA).Codec(), keysOf(t, keyA).Codec()
	sealed, err := first.Encode(plain)
	if err != nil || strings.Contains(sealed[0].String(), "hunter2") || strings.Contains(sealed[0].String(), "json/plain") {
		t.Fatalf("%v, %v", sealed, err)
	}
	if second, err := first.Encode(plain); err != nil || string(second[0].Data) == string(sealed[0].Data) {
		t.Errorf("the same payload looks the same twice: %v", err)
	}
	if twice, err := both.Encode(sealed); err != nil || cmp.Diff(sealed, twice, protocmp.Transform()) != "" {
		t.Errorf("what is encrypted is encrypted again: %v", err)
	}
	for name, codec := range map[string]converter.PayloadCodec{"its key": first, "rotated": both,
		"no longer": keysOf(t, "none "+keyA).Codec()} {
		for _, given := range [][]*common.Payload{sealed, plain} { // stock clients send plain payloads
			if opened, err := codec.Decode(given); err != nil || cmp.Diff(plain, opened, protocmp.Transform()) != "" {
				t.Errorf("%s: %v, %v", name, opened, err)
			}
		}
	}
	if same, err := keysOf(t, "none "+keyA).Codec().Encode(plain); err != nil || cmp.Diff(plain, same, protocmp.Transform()) != "" {
		t.Errorf("encrypted by no key: %v, %v", same, err)
	}

	change := func(at int) []*common.Payload {
		data := append([]byte{}, sealed[0].Data...)
		data[at] ^= 1
		return []*common.Payload{{Metadata: sealed[0].Metadata, Data: data}}
	}
	refused := map[string]struct {
		codec converter.PayloadCodec
		given []*common.Payload
		says  string
	}{
		"no keys": {payload.Keys{}.Codec(), sealed,
			`the payload is encrypted with the key "a", which this program does not have: set INQUEST_ENCRYPTION_KEYS`},
		"another key":       {keysOf(t, keyB).Codec(), sealed, `with the key "a", which`},
		"one of that name":  {keysOf(t, "a:"+keyB[2:]).Codec(), sealed, "a different key named"},
		"a changed nonce":   {first, change(0), "or was modified"},
		"a changed content": {first, change(len(sealed[0].Data) - 20), "or was modified"},
		"cut":               {first, []*common.Payload{{Metadata: sealed[0].Metadata, Data: sealed[0].Data[:5]}}, "but truncated"},
	}
	for name, test := range refused {
		if opened, err := test.codec.Decode(test.given); !errors.Is(err, payload.ErrLocked) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %v", name, opened, err)
		}
	}
}

// A caller without the token, a page of another origin, or a request with a foreign host name learns nothing.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	keys := keysOf(t, keyA)
	handler, err := payload.Endpoint(payload.EndpointOptions{
		Keys: keys, Token: "sesame", Origins: []string{"http://127.0.0.1:8233"}, Hosts: []string{"codec.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := keys.Converter(nil).ToPayload("hunter2")
	if err != nil {
		t.Fatal(err)
	}
	body := `{"payloads":[` + protoJSON(t, data) + `]}`
	tests := map[string]struct {
		method, path, host, origin, token string
		want                              int
	}{
		"by a token":               {path: "/decode", token: "sesame", want: 200},
		"by the path":              {path: "/sesame/decode", want: 200},
		"by the path, from the UI": {path: "/sesame/decode", origin: "http://127.0.0.1:8233", want: 200},
		"localhost":                {path: "/sesame/decode", host: "localhost:8234", want: 200},
		"IPv6":                     {path: "/sesame/decode", host: "[::1]:8234", want: 200},
		"its own name":             {path: "/sesame/decode", host: "codec.example", want: 200},
		"no token":                 {path: "/decode", want: 401},
		"another token":            {path: "/decode", token: "sesam", want: 401},
		"another path":             {path: "/x/sesame/decode", want: 401},
		"a foreign page":           {path: "/sesame/decode", origin: "http://evil.example", want: 403},
		"a file":                   {path: "/sesame/decode", origin: "null", want: 403},
		"a name that points here":  {path: "/sesame/decode", host: "evil.example:8234", want: 403},
		"asked before":             {method: http.MethodOptions, path: "/sesame/decode", origin: "http://127.0.0.1:8233", want: 204},
		"asked before, elsewhere":  {method: http.MethodOptions, path: "/sesame/decode", origin: "http://evil.example", want: 403},
		"read":                     {method: http.MethodGet, path: "/sesame/decode", want: 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, host := test.method, test.host
			if method == "" {
				method = http.MethodPost
			}
			if host == "" {
				host = "127.0.0.1:8234"
			}
			request := httptest.NewRequest(method, "http://"+host+test.path, strings.NewReader(body))
			if test.origin != "" {
				request.Header.Set("Origin", test.origin)
			}
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			secret := strings.Contains(answer.Body.String(), "Imh1bnRlcjIi") // "hunter2" in base64
			if answer.Code != test.want || secret != (test.want == 200) {
				t.Errorf("%d: %s", answer.Code, answer.Body)
			}
			if allowed := answer.Header().Get("Access-Control-Allow-Origin"); test.want < 300 && allowed != test.origin || test.want >= 400 &&
				test.want != 404 && allowed != "" {
				t.Errorf("the origin %q is allowed", allowed)
			}
		})
	}
}

func protoJSON(t *testing.T, p *common.Payload) string {
	t.Helper()
	body, err := protojson.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

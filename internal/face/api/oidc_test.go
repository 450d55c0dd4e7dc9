package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
)

// issuer is an identity provider with the documents of OpenID Connect Discovery 1.0 and tokens signed with its key.
type issuer struct {
	*testing.T
	url     string
	key     *ecdsa.PrivateKey
	fetched atomic.Int64 // number of requests for the keys
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{T: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url + "/a", "token_endpoint": i.url + "/t",
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k",
			Algorithm: "ES256", Use: "sig"}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// token returns a token with claims that override the valid ones.
func (i *issuer) token(key *ecdsa.PrivateKey, claims map[string]any) string {
	i.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		i.Fatal(err)
	}
	all := map[string]any{
		"iss": i.url, "aud": "inquest", "sub": "u1", "exp": time.Now().Add(time.Hour).Unix(), "email": "ann@example.com",
		"email_verified": true,
		"groups":         []string{"sre", "admin", "others"},
	}
	for name, value := range claims {
		all[name] = value
	}
	text, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		i.Fatal(err)
	}
	return text
}

// A person has the permissions of the groups in the provider's token. Other tokens give none.
func TestOIDC(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDoor(t.Context(), config.HTTP{OIDC: config.OIDC{Issuer: i.url, Audience: "inquest", Groups: map[string]config.Grant{
		"sre": {Role: config.RoleApprover, Projects: []string{"payments"}}, "all": {Projects: []string{"*"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		token   string
		name    string
		rank    int
		refused bool
	}{
		"right":               {token: i.token(i.key, nil), name: "ann@example.com", rank: 3},
		"several audiences":   {token: i.token(i.key, map[string]any{"aud": []string{"x", "inquest"}}), name: "ann@example.com", rank: 3},
		"no e-mail":           {token: i.token(i.key, map[string]any{"email": nil}), name: "u1", rank: 3},
		"unverified":          {token: i.token(i.key, map[string]any{"email_verified": false}), name: "u1", rank: 3},
		"verified in words":   {token: i.token(i.key, map[string]any{"email_verified": "true"}), name: "ann@example.com", rank: 3},
		"unverified in words": {token: i.token(i.key, map[string]any{"email_verified": "false"}), name: "u1", rank: 3},
		"not said":            {token: i.token(i.key, map[string]any{"email_verified": nil}), name: "u1", rank: 3},
		"no group":            {token: i.token(i.key, map[string]any{"groups": nil}), name: "ann@example.com"},
		"group as text":       {token: i.token(i.key, map[string]any{"groups": "sre"}), name: "ann@example.com"},
		"other audience":      {token: i.token(i.key, map[string]any{"aud": "other"}), refused: true},
		"other issuer":        {token: i.token(i.key, map[string]any{"iss": "http://evil.example"}), refused: true},
		"expired":             {token: i.token(i.key, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), refused: true},
		"other key":           {token: i.token(foreign, nil), refused: true},
		"no signature":        {token: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MSJ9.", refused: true},
		"no token":            {token: "a.b.c", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			who, err := d.who(t.Context(), "Bearer "+tt.token)
			if (err != nil) != tt.refused || who.name != tt.name || who.rank("payments") != tt.rank || who.rank("search") != 0 ||
				who.projects() == nil {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	who, _, _ := d.enter(t.Context(), agent.ChannelHTTP, "Bearer "+i.token(i.key, nil), config.RoleViewer)
	checked := who.checked("payments")
	if err := checked.Check(); err != nil || !slices.Equal(checked.Groups, []string{"sre", "others", "approver"}) ||
		checked.Channel != "http" {
		t.Errorf("checked %+v, %v: a group of the provider's is no role", checked, err)
	}
	away, err := newDoor(t.Context(), config.HTTP{OIDC: config.OIDC{Issuer: "http://127.0.0.1:1", Audience: "inquest"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := away.who(t.Context(), "Bearer a.b.c"); err != errProvider {
		t.Errorf("the provider is away: %v", err)
	}
}

// provided is a door with an identity provider and its own token.
func (i *issuer) provided(clock *atomic.Pointer[time.Time]) *door {
	i.Helper()
	d, err := newDoor(i.Context(), config.HTTP{
		OIDC:   config.OIDC{Issuer: i.url, Audience: "inquest", Groups: map[string]config.Grant{"sre": {Role: config.RoleApprover}}},
		Tokens: map[string]config.Token{"Root": {SHA256: strings.Repeat("a", 64)}},
	})
	if err != nil {
		i.Fatal(err)
	}
	if clock != nil {
		d.provider.gate.now = func() time.Time { return *clock.Load() }
	}
	return d
}

// Names identify people, so a name is refused if it is empty, hides characters, or belongs to someone else.
func TestNamesOfPeople(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	d := i.provided(nil)
	for sub, ok := range map[string]bool{
		"u1": true, "Ann Lee": true, "Żaneta 李": true, "auth0|5f7c8ec7c33c6c004bbafe82": true, "rooted": true,
		"": false, " ": false,
		"\u200b": false, "\u00ad": false, "root": false, "Root": false, "ROOT": false, "root ": false, " root": false,
		"ro\u200bot":   false,
		"ann\u202ebob": false, "ann\nbob": false, "ann\u00a0lee": false, "ann\ufe0f": false, "ann\u115f": false, "ann\u2800": false,
		"ann\U000e0041": false,
		"ann\x1b[2J":    false, "webhook alertmanager": false, strings.Repeat("x", agent.MaxBy+1): false,
	} {
		who, err := d.who(t.Context(), "Bearer "+i.token(i.key, map[string]any{"sub": sub, "email": nil}))
		if (err == nil) != ok || ok && who.name != sub || !ok && !strings.Contains(err.Error(), "from the identity provider was refused") {
			t.Errorf("%q: %+v, %v", sub, who, err)
		}
	}
	if _, err := d.who(t.Context(), "Bearer "+i.token(i.key, map[string]any{"email": "a\u200b@example.com"})); err == nil {
		t.Error("an e-mail with an invisible character is taken")
	}
}

// Tokens without a matching key do not cause a flood of requests to the provider, and a changed key is soon known.
func TestKeysAreFetchedRarely(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var clock atomic.Pointer[time.Time]
	at := func(now time.Time) { clock.Store(&now) }
	start := time.Now()
	at(start)
	d := i.provided(&clock)
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	who := func(key *ecdsa.PrivateKey) error {
		_, err := d.who(t.Context(), "Bearer "+i.token(key, nil))
		return err
	}
	if err := who(i.key); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := who(foreign); err != errUnknown {
			t.Fatal(err)
		}
	}
	if got := i.fetched.Load(); got != 1 {
		t.Errorf("the keys were fetched %d times", got)
	}
	if err := who(i.key); err != nil {
		t.Errorf("the known key: %v", err)
	}
	i.key = foreign // the provider has changed its key
	at(start.Add(2 * askEvery))
	_ = who(foreign) // the library may still use the result of the last request
	for range 50 {
		if err := who(foreign); err != nil {
			t.Fatal(err)
		}
	}
	if got := i.fetched.Load(); got != 2 {
		t.Errorf("the keys were fetched %d times", got)
	}
}

// While the provider does not answer, all requests wait for one attempt, each no longer than its own limit. Later ones do not wait.
func TestProviderHangs(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	t.Cleanup(server.Close)
	d, err := newDoor(t.Context(), config.HTTP{OIDC: config.OIDC{Issuer: server.URL, Audience: "inquest"}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := d.who(t.Context(), "Bearer a.b.c"); err != errProvider {
				t.Error(err)
			}
		})
	}
	<-asked
	impatient, leave := context.WithCancel(t.Context())
	leave()
	if _, err := d.who(impatient, "Bearer a.b.c"); err != errProvider {
		t.Error(err)
	}
	close(release)
	group.Wait()
	if _, err := d.who(t.Context(), "Bearer a.b.c"); err != errProvider {
		t.Error(err)
	}
	if len(asked) > 0 {
		t.Errorf("the provider was asked %d times", len(asked)+1)
	}
}

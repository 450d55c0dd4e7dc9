package payload

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/trust/webguard"
)

// EndpointOptions configures a codec endpoint.
type EndpointOptions struct {
	Keys Keys
	// Storage holds payloads that are too large for a history.
	Storage converter.ExternalStorage
	// Token is the secret of callers. They send it as Authorization: Bearer TOKEN. A Temporal UI cannot send that header and has
	// the token as the first part of the path instead.
	Token string
	// Origins are the origins of the Temporal UIs whose pages may call: http://127.0.0.1:8233.
	Origins []string
	// Hosts are the host names of the endpoint, besides loopback names.
	Hosts []string
}

const maxEndpointBody = 32 << 20 // bytes

// Endpoint returns the HTTP endpoint with which the Temporal UI and CLI encrypt and decrypt. It refuses pages of a foreign origin,
// and requests for a foreign host name that resolves to this host.
func Endpoint(opts EndpointOptions) (http.Handler, error) {
	inner, err := converter.NewPayloadHTTPHandler(converter.PayloadHTTPHandlerOptions{
		ExternalStorage: opts.Storage, PreStorageCodecs: []converter.PayloadCodec{opts.Keys.Codec()},
	})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !webguard.Known(r, opts.Hosts...):
			http.Error(w, "this host name is not allowed", http.StatusForbidden)
		case origin != "" && !slices.Contains(opts.Origins, origin):
			http.Error(w, "this origin is not allowed", http.StatusForbidden)
		case r.Method == http.MethodOptions && origin != "":
			allow(w, origin)
			w.WriteHeader(http.StatusNoContent)
		case !opts.knows(r):
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		default:
			if origin != "" {
				allow(w, origin)
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxEndpointBody)
			inner.ServeHTTP(w, r)
		}
	}), nil
}

func allow(w http.ResponseWriter, origin string) {
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Vary", "Origin")
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace, Authorization-Extras")
}

func (o EndpointOptions) knows(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	inPath, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return o.Token != "" && (same(token, o.Token) || same(inPath, o.Token))
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

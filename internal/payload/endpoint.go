package payload

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/webguard"
)

// EndpointOptions say whom a codec endpoint serves.
type EndpointOptions struct {
	Keys Keys
	// Storage has what is too large for a history.
	Storage converter.ExternalStorage
	// Token is what who asks must know: as Authorization: Bearer TOKEN, or, for a
	// Temporal UI, which sends none, as the first part of the path.
	Token string
	// Origins are those of the Temporal UIs whose pages may ask: http://127.0.0.1:8233.
	Origins []string
	// Hosts are the names that the endpoint goes by, besides loopback's.
	Hosts []string
}

const maxEndpointBody = 32 << 20 // bytes

// Endpoint is the HTTP endpoint by which the Temporal UI and CLI encrypt and decrypt.
// A page of a foreign origin, or of a name that only points here, is refused.
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
			http.Error(w, "this name is not served", http.StatusForbidden)
		case origin != "" && !slices.Contains(opts.Origins, origin):
			http.Error(w, "this origin is not served", http.StatusForbidden)
		case r.Method == http.MethodOptions && origin != "":
			allow(w, origin)
			w.WriteHeader(http.StatusNoContent)
		case !opts.knows(r):
			http.Error(w, "a token is needed", http.StatusUnauthorized)
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

package system

import "context"

type keyKey struct{}

// WithKey returns a context in which one request to a workflow has an idempotency key: repeating it returns the first outcome. Use a
// key for one operation only.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// KeyOf returns the key of WithKey. An empty string means none.
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

// Package payload stores payloads that are too large for a Temporal history. It is a safety net: inputs and results are small by
// construction.
package payload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	// Threshold is the size in bytes from which payloads go to the store. It is above everything that is small by construction,
	// including the report in a result, which the Temporal CLI and UI must be able to read.
	Threshold = 256 << 10

	driverName = "inquest" // in histories, so never change it
	blobClaim  = "blob"    // key of the blob's hash in a claim
	// within bounds the time for one payload. The SDK reads payloads without a deadline, and a worker must not hang while the store
	// is unavailable.
	within = 8 * time.Second // shorter than a workflow task
)

// Blobs is the required part of the store.
type Blobs interface {
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Storage returns the option of a Temporal client that stores large payloads as blobs. Workers inherit it from their client. Every
// reader of results or histories needs the same option. The blob contains what would have been sent: with an encrypting codec, it
// is encrypted.
func Storage(blobs Blobs) converter.ExternalStorage {
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{blobs}}, PayloadSizeThreshold: Threshold}
}

// Reader is the part of the store that is required for reading.
type Reader interface {
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Reading returns the option of a Temporal client that reads stored payloads and stores none, because its messages must be readable
// wherever workers run.
func Reading(blobs Reader) converter.ExternalStorage {
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{reading{blobs}}}, PayloadSizeThreshold: math.MaxInt}
}

// reading is a read-only Blobs.
type reading struct{ Reader }

func (reading) PutBlob(context.Context, []byte) (string, error) { return "", errors.ErrUnsupported }

// driver is a converter.StorageDriver. A claim names a blob, which is a payload in protobuf format, including its metadata.
type driver struct{ blobs Blobs }

func (driver) Name() string { return driverName }
func (driver) Type() string { return driverName }

// Store implements converter.StorageDriver. Equal payloads have the same blob, so a retried step stores nothing twice.
func (d driver) Store(ctx converter.StorageDriverStoreContext, payloads []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		err := ctx.GetLimiter().Permit(ctx.Context, p, func() (err error) {
			claims[i], err = d.store(ctx.Context, p)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("store a payload of %d bytes: %w", proto.Size(p), err)
		}
	}
	return claims, nil
}

func (d driver) store(ctx context.Context, p *commonpb.Payload) (claim converter.StorageDriverClaim, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return claim, err
	}
	hash, err := d.blobs.PutBlob(ctx, data)
	claim.ClaimData = map[string]string{blobClaim: hash}
	return claim, err
}

// Retrieve implements converter.StorageDriver.
func (d driver) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, claim := range claims {
		err := ctx.GetLimiter().Permit(ctx.Context, claim, func() (err error) {
			payloads[i], err = d.retrieve(ctx.Context, claim.ClaimData[blobClaim])
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read a payload from the store: %w", err)
		}
	}
	return payloads, nil
}

func (d driver) retrieve(ctx context.Context, hash string) (*commonpb.Payload, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	data, err := d.blobs.Blob(ctx, hash)
	if err != nil {
		return nil, err
	}
	p := &commonpb.Payload{}
	if err := proto.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, err)
	}
	return p, nil
}

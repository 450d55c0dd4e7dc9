package payload

import (
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// Encrypted payloads have the format of Temporal's samples: the whole payload in AES-GCM, after its nonce. The names are in
// histories, so never change them.
const (
	encodingEncrypted = "binary/encrypted"
	metadataKeyID     = "encryption-key-id"
)

// ErrLocked means that a payload is encrypted with a key that is not available.
var ErrLocked = errors.New("the payload is encrypted")

// Protect makes a Temporal client encrypt everything that it sends, including failure messages, and decrypt its input. If a key is
// missing, errors and failure messages name it.
func (k Keys) Protect(opts *client.Options) {
	opts.DataConverter = k.Converter(opts.DataConverter)
	if opts.FailureConverter == nil {
		plain := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: opts.DataConverter, EncodeCommonAttributes: k.Encrypting(),
		})
		opts.FailureConverter = failures{plain, opts.DataConverter}
	}
}

// Converter returns a data converter that encrypts. A nil parent means the default one.
func (k Keys) Converter(parent converter.DataConverter) converter.DataConverter {
	if parent == nil {
		parent = converter.GetDefaultDataConverter()
	}
	return converter.NewCodecDataConverter(parent, k.Codec())
}

// Codec returns only the codec, for callers that read raw payloads.
func (k Keys) Codec() converter.PayloadCodec { return codec{k} }

// codec is a converter.PayloadCodec.
type codec struct{ Keys }

func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.seal)
}

// Decode implements converter.PayloadCodec. Payloads that are not encrypted, because a stock client sent them or no keys were set
// yet, stay unchanged.
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.open)
}

func each(payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if out[i], err = change(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func encrypted(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == encodingEncrypted
}

// seal encrypts a payload unless it is encrypted already.
func (c codec) seal(p *commonpb.Payload) (*commonpb.Payload, error) {
	if !c.Encrypting() || encrypted(p) {
		return p, nil
	}
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encrypt a payload: %w", err)
	}
	sealer := c.ciphers[c.first]
	nonce := make([]byte, sealer.NonceSize(), sealer.NonceSize()+len(plain)+sealer.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("encrypt a payload: %w", err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted), metadataKeyID: []byte(c.first)},
		Data:     sealer.Seal(nonce, nonce, plain, nil),
	}, nil
}

// open decrypts an encrypted payload.
func (c codec) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	if !encrypted(p) {
		return p, nil
	}
	id, data := string(p.GetMetadata()[metadataKeyID]), p.GetData()
	sealer, known := c.ciphers[id]
	if !known {
		return nil, fmt.Errorf("%w with the key %q, which this program does not have: set %s or %s to the workers' value",
			ErrLocked, id, VariableKeys, VariableKeysFile)
	}
	if len(data) < sealer.NonceSize() {
		return nil, fmt.Errorf("%w with the key %q, but truncated", ErrLocked, id)
	}
	plain, err := sealer.Open(nil, data[:sealer.NonceSize()], data[sealer.NonceSize():], nil)
	if err != nil {
		return nil, fmt.Errorf("%w with a different key named %q, or was modified", ErrLocked, id)
	}
	out := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		return nil, fmt.Errorf("read the payload encrypted with the key %q: %w", id, err)
	}
	return out, nil
}

// failures is a converter.FailureConverter that returns an explanation for a failure that it cannot read.
type failures struct {
	converter.FailureConverter
	data converter.DataConverter
}

func (f failures) FailureToError(failure *failurepb.Failure) error {
	var said any
	if sealed := failure.GetEncodedAttributes(); encrypted(sealed) {
		if err := f.data.FromPayload(sealed, &said); errors.Is(err, ErrLocked) {
			failure = proto.CloneOf(failure)
			failure.Message, failure.EncodedAttributes = err.Error(), nil
		}
	}
	return f.FailureConverter.FailureToError(failure)
}

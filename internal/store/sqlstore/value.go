package sqlstore

import (
	"fmt"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/tenant"
	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/domain/webhook"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// plain turns a value of the domain into one of the three kinds that a batch may hold. An id or key of "none"
// becomes an empty byte string: columns are never NULL, except where the schema says so.
func plain(v any) any {
	switch v := v.(type) {
	case int64, string, []byte:
		return v
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case int16:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case clock.Micros:
		return int64(v)
	case message.State:
		return int64(v)
	case message.Outcome:
		return int64(v)
	case message.Delivery:
		return int64(v)
	case intent.Action:
		return int64(v)
	case intent.Class:
		return int64(v)
	case intent.Space:
		return int64(v)
	case wallet.MicroUSD:
		return int64(v)
	case wallet.State:
		return int64(v)
	case wallet.Kind:
		return int64(v)
	case wallet.Account:
		return int64(v)
	case evidence.Queue:
		return int64(v)
	case tenant.State:
		return int64(v)
	case tenant.KeyKind:
		return int64(v)
	case ident.Partition:
		return int64(v)
	case intent.Reason:
		return string(v)
	case evidence.EventKind:
		return string(v)
	case exception.Kind:
		return string(v)
	case exception.State:
		return int64(v)
	case webhook.State:
		return int64(v)
	case webhook.Problem:
		return string(v)
	}
	return plainID(v)
}

// plainID is plain for what is 16 bytes.
func plainID(v any) []byte {
	switch v := v.(type) {
	case ident.Message:
		return bytesOf(v)
	case ident.Decision:
		return bytesOf(v)
	case ident.Receipt:
		return bytesOf(v)
	case ident.Exception:
		return bytesOf(v)
	case ident.User:
		return bytesOf(v)
	case ident.Guest:
		return bytesOf(v)
	case ident.Lease:
		return bytesOf(v)
	case ident.Stop:
		return bytesOf(v)
	case ident.Transfer:
		return bytesOf(v)
	case ident.Webhook:
		return bytesOf(v)
	case ident.Node:
		return bytesOf(v)
	case ident.Incarnation:
		return bytesOf(v)
	case intent.Key:
		return bytesOf(v)
	case [16]byte:
		return bytesOf(v)
	}
	panic(fmt.Sprintf("sqlstore: a value of type %T cannot be stored", v))
}

func bytesOf[T ~[16]byte](v T) []byte {
	if v == (T{}) {
		return []byte{}
	}
	b := [16]byte(v)
	return b[:]
}

// some is b, or an empty byte string instead of nil, which would be NULL.
func some(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// orNil is b, or nil instead of an empty byte string.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func keyFrom(b []byte) intent.Key {
	var k intent.Key
	if len(b) == len(k) {
		copy(k[:], b)
	}
	return k
}

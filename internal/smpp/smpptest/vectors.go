// Package smpptest has PDUs for the tests of the codec and of those who use it: vectors that other implementations
// decode alike, and a sample of every command and of every TLV.
package smpptest

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

//go:embed testdata/pdus.jsonl
var vectorLines string

// Vector is one row of testdata/pdus.jsonl.
type Vector struct {
	ID        string         `json:"id"`
	Command   string         `json:"command"`
	Hex       string         `json:"hex"`
	CommandID string         `json:"command_id"`
	Status    string         `json:"command_status"`
	Sequence  uint32         `json:"sequence_number"`
	Fields    map[string]any `json:"fields"`
	TLVs      []VectorTLV    `json:"tlvs"`
	Malformed bool           `json:"malformed"`
}

// VectorTLV is a TLV of a vector.
type VectorTLV struct {
	Tag   string `json:"tag"`
	Name  string `json:"name"`
	Value string `json:"value_hex"`
}

// Raw is the PDU's octets.
func (v Vector) Raw(t testing.TB) []byte { return Unhex(t, v.Hex) }

// Vectors returns all vectors by their id.
func Vectors(t testing.TB) map[string]Vector {
	t.Helper()
	all := map[string]Vector{}
	for dec := json.NewDecoder(strings.NewReader(vectorLines)); ; {
		var v Vector
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[v.ID] = v
	}
}

// Unhex reads hexadecimal digits.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

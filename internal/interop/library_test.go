//go:build services

package interop

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	wire "github.com/einmal/einmal/internal/smpp"
)

// library is another implementation of SMPP.
type library struct {
	name    string
	command func(*testing.T) *exec.Cmd
	// deviates has the TLVs whose value the library reads and writes in a way of its own, with that way.
	deviates map[wire.Tag]string
	// aliases are its names for statuses and TLVs where they are not those of SMPP 3.4.
	aliases map[string]string
}

var libraries = []library{{
	name: "node-smpp",
	command: func(t *testing.T) *exec.Cmd {
		modules := wanted(t, "EINMAL_TEST_NODE_SMPP", "a node_modules folder with the package smpp")
		cmd := exec.Command("node", "testdata/peer.js")
		cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
		return cmd
	},
	deviates: map[wire.Tag]string{
		wire.TagSourceTelematicsID:     "two octets in place of one",
		wire.TagAlertOnMessageDelivery: "one octet in place of none, as in SMPP 5.0",
	},
	aliases: map[string]string{
		"dest_port": "destination_port", "alert_on_msg_delivery": "alert_on_message_delivery",
		"ESME_RINVTLVSTREAM": "ESME_RINVOPTPARSTREAM", "ESME_RTLVNOTALLWD": "ESME_ROPTPARNOTALLWD", "ESME_RINVTLVLEN": "ESME_RINVPARLEN",
		"ESME_RMISSINGTLV": "ESME_RMISSINGOPTPARAM", "ESME_RINVTLVVAL": "ESME_RINVOPTPARAMVAL",
	},
}, {
	name: "Net::SMPP",
	command: func(t *testing.T) *exec.Cmd {
		return exec.Command(wanted(t, "EINMAL_TEST_NET_SMPP", "a perl that has Net::SMPP"), "testdata/peer.pl")
	},
}}

// eachLibrary runs a test with every library.
func eachLibrary(t *testing.T, test func(*testing.T, library)) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// same reports whether a library's TLV says what the octets say.
func (l library) same(got tlv, want wire.TLV) bool {
	if _, other := l.deviates[want.Tag]; other {
		return true
	}
	if got.Hex != nil {
		return *got.Hex == hex.EncodeToString(want.Value)
	}
	switch v := got.Value.(type) {
	case string:
		return v == strings.TrimSuffix(string(want.Value), "\x00")
	case float64:
		return v == float64(integer(want.Value))
	}
	return false
}

// integer reads a big-endian integer of up to eight octets.
func integer(b []byte) uint64 {
	var wide [8]byte
	copy(wide[8-len(b):], b)
	return binary.BigEndian.Uint64(wide[:])
}

// plain makes what JSON makes of a value, so that it can be compared with what a library said.
func plain(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	var out any
	must(t, json.Unmarshal(b, &out))
	return out
}

func octets(tag wire.Tag, b []byte) tlv {
	s := hex.EncodeToString(b)
	return tlv{Tag: uint16(tag), Hex: &s}
}

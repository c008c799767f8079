//go:build services

package interop

import (
	"encoding/binary"
	"os"
	"testing"
)

// smppPort is the registered port, by which a dissector knows the protocol.
const smppPort = 2775

// capture writes a capture file in pcap's form (draft-ietf-opsawg-pcap) of one TCP connection: packets of IPv4 with no
// link layer, a segment for each payload. Nothing has to be on a wire for it.
func capture(t *testing.T, path string, payloads [][]byte) {
	t.Helper()
	const linkRawIPv4 = 228
	le := binary.LittleEndian
	file := le.AppendUint32(nil, 0xa1b2c3d4)
	file = le.AppendUint16(le.AppendUint16(file, 2), 4)
	file = append(file, make([]byte, 8)...) // zone and accuracy: none
	file = le.AppendUint32(le.AppendUint32(file, 1<<18), linkRawIPv4)
	sequence := uint32(1)
	for i, payload := range payloads {
		packet := segment(sequence, payload)
		sequence += uint32(len(payload))
		file = le.AppendUint32(le.AppendUint32(file, uint32(i)), 0) // a second each
		file = le.AppendUint32(le.AppendUint32(file, uint32(len(packet))), uint32(len(packet)))
		file = append(file, packet...)
	}
	must(t, os.WriteFile(path, file, 0o600))
}

// segment is a TCP segment in an IPv4 packet, from a port of no meaning to that of SMPP. Checksums are left out.
func segment(sequence uint32, payload []byte) []byte {
	const ip, tcp = 20, 20
	be := binary.BigEndian
	p := make([]byte, ip+tcp, ip+tcp+len(payload))
	p[0], p[8], p[9] = 0x45, 64, 6 // version and length, time to live, TCP
	be.PutUint16(p[2:], uint16(ip+tcp+len(payload)))
	copy(p[12:], []byte{127, 0, 0, 1, 127, 0, 0, 1})
	be.PutUint16(p[ip:], 40000)
	be.PutUint16(p[ip+2:], smppPort)
	be.PutUint32(p[ip+4:], sequence)
	be.PutUint32(p[ip+8:], 1)
	p[ip+12], p[ip+13] = tcp/4<<4, 0x18 // length; PSH and ACK
	be.PutUint16(p[ip+14:], 0xffff)
	return append(p, payload...)
}

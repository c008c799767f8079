package smpp_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/provider/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// FuzzReader: whatever arrives is read without a panic, what is read can be kept as text, and masking what a receipt
// quotes changes no length and nothing that the receipt says.
func FuzzReader(f *testing.F) {
	for _, v := range smpptest.Vectors(f) {
		f.Add(v.Raw(f))
	}
	for _, s := range smpptest.Samples() {
		raw, err := s.PDU.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		p := smpp.Parse(raw)
		if (p.Kind == provider.KindUnreadable) != (p.Problem != "") || p.Kind == "" {
			t.Fatalf("kind %q, problem %q", p.Kind, p.Problem)
		}
		for _, s := range []string{p.Text, p.Status, p.ErrorCode, p.EventID, p.DoneDate, p.SubmitDate, p.Problem, p.Source, p.Dest,
			strings.Join(p.Warnings, "")} {
			if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
				t.Fatalf("cannot be kept: %q", s)
			}
		}
		for name, s := range p.Extra {
			if strings.ContainsRune(name+s, 0) || !utf8.ValidString(s) {
				t.Fatalf("%s cannot be kept: %q", name, s)
			}
		}
		masked, changed := smpp.Reader{}.Redact(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("what was received was written to")
		}
		if len(masked) != len(raw) || !changed && !bytes.Equal(masked, raw) {
			t.Fatalf("masked %t, %d octets of %d", changed, len(masked), len(raw))
		}
		if after := smpp.Parse(masked); p.Kind == provider.KindReceipt &&
			(after.Kind != p.Kind || string(after.ExternalID) != string(p.ExternalID) || after.Status != p.Status) {
			t.Fatalf("read as %+v, masked as %+v", p, after)
		}
	})
}

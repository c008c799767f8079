package ident

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An id keeps its tenant's partition, and its text comes back as the same id and as no other kind.
func TestTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Partition(rapid.Uint16Max(uint16(MaxPartition)).Draw(t, "partition"))
		id := NewMessage(p)
		if id.Partition() != p || id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%v is no UUIDv7 of partition %d", id, p)
		}
		text, err := id.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var same Message
		if err := same.UnmarshalText(text); err != nil || same != id {
			t.Fatalf("%s came back as %s: %v", id, same, err)
		}
		var other Decision
		if err := other.UnmarshalText(text); err == nil {
			t.Fatalf("%s was read as a decision's id", text)
		}
	})
}

func TestWrongText(t *testing.T) {
	for _, text := range []string{"msg_", "msg_123", "01a22e268ca47e508e3ad127c9520001", "msg_" + strings.Repeat("g", 32), "msg_" + strings.Repeat("0", 33)} {
		var id Message
		if err := id.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "msg_") {
			t.Errorf("%q: %v", text, err)
		}
	}
	var none Message
	if err := none.UnmarshalText(nil); err != nil || !none.IsZero() || none.String() != "" {
		t.Errorf("no text is no id: %v", err)
	}
}

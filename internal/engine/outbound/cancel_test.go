package outbound

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
)

// covers: D14
func TestCancelWhileItWaits(t *testing.T) {
	b := newBench(t)
	id := b.submit(order("A-1")).Decision.Message.ID
	for range 2 {
		m, err := b.Cancel(bg, 3, id, "operator", "wrong customer")
		if err != nil || m.ID != id || m.State != message.Cancelled {
			t.Fatalf("cancelled: %v, %v", m, err)
		}
	}
	events := b.store.saved(id).Events
	if len(events) != 1 || events[0].Detail["by"] != "operator" || events[0].Detail["reason"] != "wrong customer" {
		t.Errorf("events %v", events)
	}
	if b.woken.Load() != 2 {
		t.Errorf("woken %d times, once to send and once to tell", b.woken.Load())
	}
}

// A provider's message is never called back.
func TestCancelTooLate(t *testing.T) {
	b := newBench(t)
	id := b.submit(order("A-1")).Decision.Message.ID
	for _, s := range message.States() {
		if message.CanCancel(s) || s == message.Cancelled {
			continue
		}
		b.store.set(id, s)
		_, err := b.Cancel(bg, 3, id, "operator", "")
		f := b.isFault(err, fault.State)
		if words := tooLateWords[s]; words == "" || !strings.Contains(f.Detail, words) {
			t.Errorf("%s: %s", s, f.Detail)
		}
		if got := b.store.saved(id).State; got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
	if !strings.Contains(tooLate(message.Pending), "pending") {
		t.Error("a message that has become pending again has no words")
	}
}

func TestCancelOfWhatIsNotThere(t *testing.T) {
	b := newBench(t)
	id := b.submit(order("A-1")).Decision.Message.ID
	for tenant, unknown := range map[ident.Partition]ident.Message{4: id, 3: ident.NewMessage(3)} {
		_, err := b.Cancel(bg, tenant, unknown, "operator", "")
		b.isFault(err, fault.NotFound)
	}
	_, err := b.Cancel(bg, 3, id, strings.Repeat("x", MaxReason+1), "\x00")
	if f := b.isFault(err, fault.Invalid); len(f.Fields) != 2 {
		t.Errorf("fields %v", f.Fields)
	}
	if b.store.saved(id).State != message.Pending {
		t.Error("somebody else cancelled it")
	}
}

// A node with another identity key would find every register empty.
func TestAnotherIdentityKeyDoesNotStart(t *testing.T) {
	b := newBench(t)
	cfg := b.cfg
	cfg.Metrics, cfg.Identity = nil, secret.NewIdentity([secret.KeySize]byte{9})
	other := New(cfg)
	defer other.Close()
	if err := other.Start(bg); err == nil || !strings.Contains(err.Error(), secret.IdentityFile) {
		t.Errorf("started: %v", err)
	}
	cfg.Identity, cfg.Sender = b.cfg.Identity, "not a sender at all"
	again := New(cfg)
	defer again.Close()
	if err := again.Start(bg); err == nil || !strings.Contains(err.Error(), "default sender") {
		t.Errorf("started: %v", err)
	}
}

// A sender of the request's own is one of the key's parts, as it is written on air.
func TestSendersAreNormalised(t *testing.T) {
	b := newBench(t)
	one, other := order("A-1"), order("A-1")
	one.Sender, other.Sender = "+1 202 555 0199", "12025550199"
	first := b.submit(one)
	if a := b.submit(other); a.Decision.Action != intent.Suppress {
		t.Errorf("another spelling of the sender: %s", a.Decision.Action)
	}
	if got := b.store.saved(first.Decision.Message.ID).Sender; got != "12025550199" {
		t.Errorf("sender %s", got)
	}
}

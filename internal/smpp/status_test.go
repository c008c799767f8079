package smpp_test

import (
	"testing"

	"github.com/einmal/einmal/internal/smpp"
)

func TestStatus(t *testing.T) {
	for s, want := range map[smpp.Status]smpp.Class{
		smpp.StatusOK: smpp.ClassOK, smpp.StatusThrottled: smpp.ClassThrottle, smpp.StatusMsgQueueFull: smpp.ClassThrottle,
		smpp.StatusTempAppErr: smpp.ClassTemporary, smpp.StatusInvDestAddr: smpp.ClassPermanent, 0x48: smpp.ClassConfig,
		smpp.StatusInvPassword: smpp.ClassBind, smpp.StatusSysErr: smpp.ClassUnsure, smpp.StatusUnknownErr: smpp.ClassUnsure,
		0x10A: smpp.ClassPermanent, 0x400: smpp.ClassPermanent, 0x4FF: smpp.ClassPermanent, 0x09: smpp.ClassUnlisted, 0x113: smpp.ClassUnlisted,
	} {
		if got := s.Class(); got != want {
			t.Errorf("%v: class %d, want %d", s, got, want)
		}
	}
	if smpp.StatusThrottled.Name() != "ESME_RTHROTTLED" || smpp.StatusThrottled.String() != "0x00000058" {
		t.Errorf("%s %s", smpp.StatusThrottled.Name(), smpp.StatusThrottled)
	}
}

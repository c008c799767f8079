package policy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
)

const good = `
policy: shop
version: 7
mode: enforce
region: DE
purposes:
  order_confirmation:
    kind: confirmation
    key: [event.id, event.version, sender]
    window: {while: [delivered, unknown], at_most: 30d}
    on_other_text: suppress
  sale:
    kind: campaign
    key:
      - event.id
      - event.type
      - template.id
      - template.version
    window: 1d12h
  code:
    kind: authentication
    key: [correlation_id]
    window:
      while: []
      at_most: 10m
  strict_code:
    kind: authentication
    key: [event.version]
    window: 90s
    on_other_text: suppress
`

// covers: X3, D6, D17
func TestGoodFile(t *testing.T) {
	got, errs := Parse("good.yaml", []byte(good))
	if errs != nil {
		t.Fatal(errs)
	}
	want := &Policy{Name: "shop", Version: 7, Mode: Enforce, Region: "DE", Purposes: map[string]Purpose{
		"order_confirmation": {Name: "order_confirmation", Kind: KindConfirmation, Key: []KeyPart{KeyEventID, KeyEventVersion, KeySender},
			Window: Window{While: []message.State{message.Delivered, message.Unknown}, AtMost: 30 * 24 * time.Hour}, OnOtherText: OtherTextSuppress, Mode: Enforce},
		"sale": {Name: "sale", Kind: KindCampaign, Key: []KeyPart{KeyEventID, KeyEventType, KeyTemplateID, KeyTemplateVersion},
			Window: Window{Duration: 36 * time.Hour}, OnOtherText: OtherTextSuppress, Mode: Enforce},
		"code": {Name: "code", Kind: KindAuthentication, Key: []KeyPart{KeyCorrelationID},
			Window: Window{While: []message.State{}, AtMost: 10 * time.Minute}, OnOtherText: OtherTextAllow, Mode: Enforce},
		"strict_code": {Name: "strict_code", Kind: KindAuthentication, Key: []KeyPart{KeyEventVersion},
			Window: Window{Duration: 90 * time.Second}, OnOtherText: OtherTextSuppress, Mode: Enforce},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
	if got.ID() != "shop@7" {
		t.Errorf("id is %s", got.ID())
	}
	for name, bound := range map[string]bool{"order_confirmation": true, "code": true, "sale": false} {
		if w := got.Purposes[name].Window; w.EventBound() != bound || w.Limit() != max(w.AtMost, w.Duration) {
			t.Errorf("%s: event-bound %v, limit %v", name, w.EventBound(), w.Limit())
		}
	}
}

// A policy is enforced unless it says otherwise, and belongs to no region.
func TestDefaults(t *testing.T) {
	p, errs := Parse("p.yaml", []byte("{policy: p, version: 1, purposes: {a: {kind: alert, key: [event.id], window: 1s}}}"))
	if errs != nil || p.Mode != Enforce || p.Region != "" || p.Purposes["a"].OnOtherText != OtherTextSuppress {
		t.Errorf("read %+v, %v", p, errs)
	}
}

// covers: D2, D15
func TestBuiltin(t *testing.T) {
	p := Builtin()
	if p.ID() != "builtin@1" {
		t.Errorf("id is %s", p.ID())
	}
	for name, want := range map[string]Purpose{
		"order_confirmation": {Kind: KindConfirmation, Key: []KeyPart{KeyEventID, KeyEventVersion, KeySender},
			Window: Window{While: []message.State{message.Delivered, message.Undelivered, message.Cancelled}, AtMost: 30 * 24 * time.Hour}},
		"delivery_update": {Kind: KindConfirmation, Key: []KeyPart{KeyEventID, KeyEventVersion, KeySender},
			Window: Window{While: []message.State{message.Delivered}, AtMost: 7 * 24 * time.Hour}},
		"alert": {Kind: KindAlert, Key: []KeyPart{KeyEventID, KeyEventVersion}, Window: Window{Duration: 15 * time.Minute}},
		"login_code": {Kind: KindAuthentication, Key: []KeyPart{KeyEventID, KeyEventVersion},
			Window: Window{While: []message.State{}, AtMost: 10 * time.Minute}, OnOtherText: OtherTextAllow},
	} {
		want.Name, want.Mode = name, Enforce
		if want.OnOtherText == "" {
			want.OnOtherText = OtherTextSuppress
		}
		if got, err := p.Purpose(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	if len(p.Purposes) != 4 {
		t.Errorf("%d purposes", len(p.Purposes))
	}
}

func TestPurposeSuggestsTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"order_confirmatoin":      "unknown purpose: did you mean order_confirmation?",
		"ALERT":                   "unknown purpose: did you mean alert?",
		"+12025550143":            "unknown purpose: known are alert, delivery_update, login_code, order_confirmation",
		strings.Repeat("a", 5000): "unknown purpose: known are alert, delivery_update, login_code, order_confirmation",
	} {
		if _, err := Builtin().Purpose(name); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v", name, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"15m": 15 * time.Minute, "7d": 168 * time.Hour, "36h": 36 * time.Hour, "1s": time.Second,
		"1d2h3m4s": 26*time.Hour + 3*time.Minute + 4*time.Second, "0s": 0,
		"90d": maxWindow, "181d": 2 * maxWindow, "18446744073709551615d": 2 * maxWindow,
	} {
		if got, ok := parseDuration(text); !ok || got != want {
			t.Errorf("%q is %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "5", "m", "5 m", "-5m", "+5m", "1.5h", "5m5m", "5m1h", "5ms", "5M", "٥m", "99999999999999999999d", "1e3s"} {
		if d, ok := parseDuration(text); ok {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func TestLargeFilesAreNotRead(t *testing.T) {
	for src, want := range map[string]string{
		good + strings.Repeat("#", maxFile): "too large: a policy file has at most 256 KiB",
		strings.Repeat("[", maxTokens+1):    "too large: a policy file has at most 20000 words and marks",
	} {
		_, errs := Parse("big.yaml", []byte(src))
		if len(errs) != 1 || errs[0].Message != want {
			t.Errorf("errors are %v", errs)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	_, errs := Parse("p.yaml", []byte(strings.Repeat("a: b\n", 5000)))
	if len(errs) != maxErrors {
		t.Errorf("%d errors", len(errs))
	}
}

func TestLongWordsAreShortened(t *testing.T) {
	_, errs := Parse("p.yaml", []byte(strings.Repeat("é", 5000)+": 1"))
	for _, e := range errs {
		if len(e.Message) > 300 {
			t.Errorf("a message of %d octets", len(e.Message))
		}
	}
}

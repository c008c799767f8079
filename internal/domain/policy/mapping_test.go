package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const mapped = `
policy: shop
version: 1
purposes:
  order: {kind: confirmation, key: [event.id, event.version, sender], window: 1h}
  update: {kind: confirmation, key: [event.id, template.id], window: 1h}
  notice: {kind: service, key: [correlation_id], window: 1h}
mapping:
  - name: by_header
    when: {api_key: [old shop, k3v9], header: {x-app: billing}}
    purpose: order
    event: {type: order, id: {header: X-ORDER-ID}, version: 1}
  - name: by_text
    when: {sender: SHOP, text: {matches: 'order (?P<order>[A-Z]-[0-9]+)(?: v(?P<v>[0-9]+))?'}}
    purpose: order
    event: {id: {capture: order}, version: {capture: v}}
  - name: by_member
    when: {member: {metadata.kind: {matches: '^up'}}}
    purpose: update
    event: {id: {member: event.id}}
  - name: rest
    when: {api_key: old shop}
    purpose: notice
`

func parsed(t testing.TB, source string) *Policy {
	t.Helper()
	p, errs := Parse("p.yaml", []byte(source))
	if errs != nil {
		t.Fatal(errs)
	}
	return p
}

// asked is a request with headers and members.
func asked(a Asked, headers, members map[string]string) *Asked {
	a.Header = func(name string) string { return headers[name] }
	a.Member = func(name string) string { return members[name] }
	return &a
}

type values = map[string]string

// covers: D18
func TestRulesAreLookedAtInOrder(t *testing.T) {
	p := parsed(t, mapped)
	shop := Asked{KeyID: "zzzz", KeyName: "old shop", Sender: "SHOP"}
	with := func(text string) Asked { return Asked{KeyID: "zzzz", KeyName: "other", Sender: "SHOP", Text: text} }
	for name, c := range map[string]struct {
		asked *Asked
		rule  string
		event Event
	}{
		"by the key's name":      {asked(shop, values{"X-App": "billing", "X-Order-Id": " A-1 "}, nil), "by_header", Event{"order", "A-1", "1"}},
		"by the key's id":        {asked(Asked{KeyID: "k3v9", Sender: "X"}, values{"X-App": "billing", "X-Order-Id": "A-1"}, nil), "by_header", Event{"order", "A-1", "1"}},
		"another header":         {asked(shop, values{"X-App": "other", "X-Order-Id": "A-1"}, values{"correlation_id": "c"}), "rest", Event{}},
		"nothing to give":        {asked(shop, values{"X-App": "billing"}, values{"correlation_id": "c"}), "rest", Event{}},
		"what cannot be seen":    {asked(shop, values{"X-App": "billing", "X-Order-Id": "A\u200b1"}, values{"correlation_id": "c"}), "rest", Event{}},
		"what is too long":       {asked(shop, values{"X-App": "billing", "X-Order-Id": strings.Repeat("x", MaxName+1)}, values{"correlation_id": "c"}), "rest", Event{}},
		"by the text":            {asked(with("Your order B-7 v2 is on its way"), nil, values{"event.type": "parcel"}), "by_text", Event{"parcel", "B-7", "2"}},
		"a group that is empty":  {asked(with("Your order B-7 is on its way"), nil, nil), "", Event{}},
		"a text that is endless": {asked(with("order B-7 v2"+strings.Repeat(" ", maxMatched)), nil, nil), "", Event{}},
		"by a member":            {asked(with(""), nil, values{"metadata.kind": "update", "event.id": "U-1", "template.id": "t"}), "by_member", Event{"", "U-1", ""}},
		"an incomplete key":      {asked(with(""), nil, values{"metadata.kind": "update", "event.id": "U-1"}), "", Event{}},
		"nothing fits":           {asked(with("Hello"), nil, nil), "", Event{}},
	} {
		m, ok := p.Map(c.asked)
		if ok != (c.rule != "") || m.Rule != c.rule || m.Event != c.event {
			t.Errorf("%s: %v, %s, %+v", name, ok, m.Rule, m.Event)
		}
		if ok && (m.Purpose.Name == "" || m.Purpose.Mode != Enforce) {
			t.Errorf("%s: purpose %+v", name, m.Purpose)
		}
	}
}

// A rule for all requests, and a policy without rules.
func TestRulesForAllAndForNone(t *testing.T) {
	p := parsed(t, strings.Replace(mapped, "when: {api_key: old shop}", "when: {}", 1))
	if m, ok := p.Map(asked(Asked{}, nil, values{"correlation_id": "c"})); !ok || m.Rule != "rest" {
		t.Errorf("for all: %v %s", ok, m.Rule)
	}
	if _, ok := Builtin().Map(asked(Asked{}, nil, nil)); ok {
		t.Error("the built-in policy maps")
	}
}

// Whatever is asked, what a rule makes of it can be decided: the purpose is one of the policy's, its key is complete,
// and every value could have been a request's own.
//
// covers: D18
func TestWhatIsMappedCanBeDecided(t *testing.T) {
	p := parsed(t, mapped)
	piece := rapid.SampledFrom([]string{"", " ", "old shop", "k3v9", "billing", "SHOP", "order ", "A-1", " v2", "up", "\u200b", "\x00", "\xff", strings.Repeat("y", 200)})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces"), "") })
	some := rapid.MapOf(rapid.SampledFrom([]string{"X-App", "X-Order-Id", "metadata.kind", "event.id", "event.version", "template.id", "correlation_id"}), text)
	rapid.Check(t, func(t *rapid.T) {
		all := some.Draw(t, "values")
		a := asked(Asked{KeyID: piece.Draw(t, "id"), KeyName: piece.Draw(t, "name"), Sender: piece.Draw(t, "sender"), Text: text.Draw(t, "text")}, all, all)
		m, ok := p.Map(a)
		if !ok {
			if m.Rule != "" {
				t.Fatal("a rule that does not apply is named")
			}
			return
		}
		if _, err := p.Purpose(m.Purpose.Name); err != nil || !m.complete(a) {
			t.Fatalf("%+v", m)
		}
		for _, v := range []string{m.Event.Type, m.Event.ID, m.Event.Version} {
			given := m.Rule == "by_header" || m.Rule == "by_text" && v != a.member("event.type")
			if given && !usable(v) {
				t.Fatalf("%s gives %q", m.Rule, v)
			}
		}
	})
}

func TestCanonicalHeaders(t *testing.T) {
	for name, want := range map[string]string{
		"x-order-id": "X-Order-Id", "X-ORDER-ID": "X-Order-Id", "etag": "Etag", "X_a-1b": "X_a-1b", "": "", "a b": "", "a:": "", "é": "",
	} {
		if got := canonicalHeader(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	p := parsed(b, mapped)
	a := asked(Asked{KeyName: "other", Sender: "SHOP", Text: "Your order B-7 v2 is on its way to you."}, nil, nil)
	for b.Loop() {
		if _, ok := p.Map(a); !ok {
			b.Fatal("not mapped")
		}
	}
}

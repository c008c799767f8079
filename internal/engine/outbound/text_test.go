package outbound

import (
	"reflect"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// long is a text of so many parts whose second part begins with an emoji that would not fit whole into the first.
func long(parts int) string {
	return strings.Repeat("я", 66) + "😀" + strings.Repeat("б", 67*(parts-1)-10)
}

// of has a bench cut long texts so.
func of(l Long) func(*Config) {
	return func(c *Config) { c.Route = always(Connection{ID: 7, Long: l}) }
}

// layout is how the message of an answer is cut.
func (b *bench) layout(a Answer) message.Layout {
	return b.store.saved(a.Decision.Message.ID).Request.Text
}

// opened are the texts of the parts of an answer's message, as they are sent.
func (b *bench) opened(a Answer) []string {
	b.t.Helper()
	s := b.store.saved(a.Decision.Message.ID)
	var texts []string
	for part := range uint16(s.Request.Text.Parts) {
		o := store.Opened{Claimed: store.Claimed{Message: s.Submission.Message}, Part: part + 1, Content: s.Content}
		one, err := b.contents.Open(bg, o)
		if err != nil {
			b.t.Fatalf("part %d: %v", part+1, err)
		}
		texts = append(texts, one)
	}
	return texts
}

// A long text is cut once, with the decision, and its parts are what was sent for.
//
// covers: D5, D14
func TestALongTextIsCutOnce(t *testing.T) {
	b := newBench(t)
	s := order("A-1")
	s.Text = long(3)
	a := b.submit(s)
	want := message.Layout{Parts: 3, DataCoding: gsm.CodingUCS2, JoinedBy: "udh8"}
	if a.Parts != 3 || a.Encoding != UCS2 || b.layout(a) != want {
		t.Errorf("%d parts, %s; stored as %+v", a.Parts, a.Encoding, b.layout(a))
	}
	got := b.opened(a)
	if strings.Join(got, "") != s.Text || got[0] != strings.Repeat("я", 66) || !strings.HasPrefix(got[1], "😀") {
		t.Errorf("the parts are %q", got)
	}
}

// covers: D4, C52
func TestADryRunCountsParts(t *testing.T) {
	b := newBench(t)
	for text, want := range map[string]Answer{
		strings.Repeat("a", 160):                      {Parts: 1, Encoding: GSM7, UnitsLeft: 0},
		strings.Repeat("a", 161):                      {Parts: 2, Encoding: GSM7, UnitsLeft: 153*2 - 161},
		strings.Repeat("a", 152) + "€" + "b":          {Parts: 1, Encoding: GSM7, UnitsLeft: 5},
		strings.Repeat("a", 152) + "€" + "bbbbbbbbbb": {Parts: 2, Encoding: GSM7, UnitsLeft: 153 - 12},
		strings.Repeat("|", 69) + "∞":                 {Parts: 1, Encoding: UCS2, UnitsLeft: 0},
		strings.Repeat("|", 70) + "∞":                 {Parts: 2, Encoding: UCS2, UnitsLeft: 67 - 4},
		strings.Repeat("😀", 335):                      {Parts: 11, Encoding: UCS2},
	} {
		dry := order("A-1")
		dry.Text, dry.DryRun = text, true
		if want.Parts > request.DefaultMostParts {
			f := b.refused(dry, fault.Invalid)
			if !strings.Contains(f.Fields[0].Detail, "it needs 11 parts, and at most 10 may be sent: 1530 characters of the GSM alphabet, or 670") {
				t.Errorf("the refusal says %q", f.Fields[0].Detail)
			}
			continue
		}
		a := b.submit(dry)
		if a.Parts != want.Parts || a.Encoding != want.Encoding || a.UnitsLeft != want.UnitsLeft {
			t.Errorf("%d characters: %d parts, %s, %d units left; want %+v", len(text), a.Parts, a.Encoding, a.UnitsLeft, want)
		}
	}
	if b.store.reserved() != 0 {
		t.Error("something was reserved")
	}
}

// A connection limits the number of parts, and says how they are joined.
func TestLimitsOfLongTexts(t *testing.T) {
	for name, c := range map[string]struct {
		long   Long
		fits   string
		layout message.Layout
		detail string // of the refusal of a character more
	}{
		"one part": {Long{MostParts: 1}, strings.Repeat("a", 160), message.Layout{Parts: 1}, "it needs 2 parts, and at most 1 may be sent: 160 characters of the GSM alphabet, or 70"},
		"8 bits":   {Long{MostParts: 2}, strings.Repeat("a", 306), message.Layout{Parts: 2, JoinedBy: "udh8"}, "306 characters of the GSM alphabet, or 134"},
		"16 bits":  {Long{2, provider.JoinedByUDH16}, strings.Repeat("a", 304), message.Layout{Parts: 2, JoinedBy: "udh16"}, "304 characters of the GSM alphabet, or 132"},
		"sar":      {Long{2, provider.JoinedBySAR}, strings.Repeat("a", 304), message.Layout{Parts: 2, JoinedBy: "sar"}, "304"},
		"payload":  {Long{2, provider.JoinedByPayload}, strings.Repeat("a", 304), message.Layout{Parts: 1, JoinedBy: "payload"}, "304"},
		"the most": {Long{MostParts: 255}, strings.Repeat("a", 255*153), message.Layout{Parts: 255, JoinedBy: "udh8"}, "it needs 256 parts, and at most 255"},
		"too many": {Long{MostParts: 1000}, strings.Repeat("я", 255*67), message.Layout{Parts: 255, DataCoding: 8, JoinedBy: "udh8"}, "at most 255"},
	} {
		b := newBench(t, of(c.long))
		s := order("A-1")
		s.Text = c.fits
		a := b.submit(s)
		if got := b.layout(a); got != c.layout {
			t.Errorf("%s: it is cut as %+v", name, got)
		}
		if got := b.opened(a); strings.Join(got, "") != c.fits {
			t.Errorf("%s: the parts are another text", name)
		}
		s.Event.ID, s.Text = "A-2", c.fits+"a"
		if f := b.refused(s, fault.Invalid); !strings.Contains(f.Fields[0].Detail, c.detail) || f.Fields[0].Pointer != "#/text" {
			t.Errorf("%s: the refusal is %+v", name, f.Fields)
		}
	}
}

// Neither another setting nor another release changes what a repeat is told, or how what was taken is cut.
//
// covers: D8
func TestARepeatIsToldTheSameParts(t *testing.T) {
	b := newBench(t)
	s := keyed(order("A-1"), "k")
	s.Text = long(3)
	first := b.submit(s)
	of(Long{MostParts: 1})(&b.cfg)
	again := b.submit(s)
	if !again.Replayed || again.Parts != 3 || again.Encoding != UCS2 || !reflect.DeepEqual(again.Decision, first.Decision) {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
	if got := b.opened(first); strings.Join(got, "") != s.Text {
		t.Errorf("the parts are %q", got)
	}
	// A decision of a release that did not say is answered as it was then.
	for id, d := range b.store.decisions {
		d.Text = message.Layout{}
		b.store.decisions[id] = d
	}
	if old := b.submit(s); old.Kind != intent.Replayed || old.Parts != 0 || old.Encoding != "" {
		t.Errorf("an old decision is answered with %d parts, %q", old.Parts, old.Encoding)
	}
}

func TestPartsOfContent(t *testing.T) {
	for name, c := range map[string]Content{
		"ends that go back":    {Text: "abcdef", Ends: []int{4, 2}},
		"an end behind it":     {Text: "abcdef", Ends: []int{7}},
		"an end before it":     {Text: "abcdef", Ends: []int{-1}},
		"no part of that name": {Text: "abcdef"},
	} {
		if text, err := c.Part(2); err == nil {
			t.Errorf("%s: part 2 is %q", name, text)
		}
	}
	old, err := DecodeContent([]byte(`{"to_raw":"1","text":"abc"}`)) // as a release before wrote it
	if text, wrong := old.Part(1); err != nil || wrong != nil || text != "abc" {
		t.Errorf("%q, %v, %v", text, err, wrong)
	}
}

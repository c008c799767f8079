package outbound

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/domain/trial"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Each wrong field is named, with what would be right; nothing is reserved. A dry run and a test of a policy say the
// same.
//
// covers: D2, D8, X3
func TestWrongFields(t *testing.T) {
	long := strings.Repeat("2718281828 ", 20)
	for name, c := range map[string]struct {
		change  func(*Submission)
		pointer string
		says    string
	}{
		"misspelt purpose":    {func(s *Submission) { s.Purpose = "oder" }, "#/purpose", "order"},
		"no destination":      {func(s *Submission) { s.To = "" }, "#/to", "+1202"},
		"letters":             {func(s *Submission) { s.To = "202-555-CALL" }, "#/to", "digits"},
		"unknown region":      {func(s *Submission) { s.Region = "XX" }, "#/region", "ISO 3166"},
		"impossible sender":   {func(s *Submission) { s.Sender = "a sender with 2718281828" }, "#/sender", "at most 11"},
		"no text":             {func(s *Submission) { s.Text = "" }, "#/text", "write the text"},
		"long text":           {func(s *Submission) { s.Text = strings.Repeat(long, 20) }, "#/text", "parts, and at most 10 may be sent"},
		"text with U+0000":    {func(s *Submission) { s.Text = "2718281828\x00" }, "#/text", "U+0000"},
		"text of broken":      {func(s *Submission) { s.Text = "2718281828\xff" }, "#/text", "UTF-8"},
		"long event id":       {func(s *Submission) { s.Event.ID = long }, "#/event/id", "128"},
		"event with U+0000":   {func(s *Submission) { s.Event.Type = "\x00" }, "#/event/type", "U+0000"},
		"long template":       {func(s *Submission) { s.Template.Version = long }, "#/template/version", "128"},
		"long correlation":    {func(s *Submission) { s.CorrelationID = long }, "#/correlation_id", "128"},
		"direction in event":  {func(s *Submission) { s.Event.ID = "A\u202e-1" }, "#/event/id", "invisible"},
		"joiner at the end":   {func(s *Submission) { s.Event.Type = "order\u200b" }, "#/event/type", "invisible"},
		"control in version":  {func(s *Submission) { s.Event.Version = "1\x1b[0m" }, "#/event/version", "invisible"},
		"isolate in template": {func(s *Submission) { s.Template.ID = "\u2066t" }, "#/template/id", "invisible"},
		"byte order mark":     {func(s *Submission) { s.Template.Version = "\ufeff3" }, "#/template/version", "invisible"},
		"broken correlation":  {func(s *Submission) { s.CorrelationID = "a\u2028b" }, "#/correlation_id", "invisible"},
		"blank event id":      {func(s *Submission) { s.Event.ID = " \u3000" }, "#/event/id", "the purpose order needs it"},
		"no event version":    {func(s *Submission) { s.Event.Version = "" }, "#/event/version", "the purpose order needs it"},
		"no duration":         {func(s *Submission) { s.ValidFor = "2718281828" }, "#/valid_for", "from 1s to 72h"},
		"too short":           {func(s *Submission) { s.ValidFor = "999ms" }, "#/valid_for", "from 1s to 72h"},
		"too long":            {func(s *Submission) { s.ValidFor = "72h1s" }, "#/valid_for", "from 1s to 72h"},
		"too long for codes":  {func(s *Submission) { s.Purpose, s.ValidFor = "login", "11m" }, "#/valid_for", "from 1s to 10m"},
		"many metadata":       {func(s *Submission) { s.Metadata = many(request.MaxMetadata + 1) }, "#/metadata", "at most 20 keys"},
		"long metadata":       {func(s *Submission) { s.Metadata = map[string]string{"k": long + long} }, "#/metadata", "at most 256"},
		"nameless metadata":   {func(s *Submission) { s.Metadata = map[string]string{"": "x"} }, "#/metadata", "1 to 64"},
		"broken metadata":     {func(s *Submission) { s.Metadata = map[string]string{"k": "2718281828\x00"} }, "#/metadata", "U+0000"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := order("A-1")
			c.change(&s)
			f := b.refused(keyed(s, "k"), fault.Invalid)
			if len(f.Fields) != 1 || f.Fields[0].Pointer != c.pointer || !strings.Contains(f.Fields[0].Detail, c.says) {
				t.Errorf("fields %q, want %s with %q", f.Fields, c.pointer, c.says)
			}
			if b.store.reserved() != 0 {
				t.Error("something was reserved")
			}
			s.DryRun = true
			if dry := b.refused(s, fault.Invalid); !slices.Equal(dry.Fields, f.Fields) {
				t.Errorf("a dry run says %q, want %q", dry.Fields, f.Fields)
			}
			b.refusedByATest(&s, f.Fields)
		})
	}
}

// refusedByATest has the request judged by a test of a policy file: it is refused there, too, with the same words.
func (b *bench) refusedByATest(s *Submission, want []fault.Field) {
	b.t.Helper()
	if s.To == "" || s.Text == "" || s.Purpose == "oder" || !utf8.ValidString(s.Text) {
		return // a file leaves the first two out, and is none with the others
	}
	step := map[string]any{"at": "0s", "to": s.To, "purpose": s.Purpose, "text": s.Text, "event": nonEmpty(map[string]string{
		"type": s.Event.Type, "id": s.Event.ID, "version": s.Event.Version,
	})}
	for member, value := range nonEmpty(map[string]string{
		"region": s.Region, "sender": s.Sender, "correlation_id": s.CorrelationID, "valid_for": s.ValidFor,
	}) {
		step[member] = value
	}
	if template := nonEmpty(map[string]string{"id": s.Template.ID, "version": s.Template.Version}); len(template) > 0 {
		step["template"] = template
	}
	if s.Metadata != nil {
		step["metadata"] = s.Metadata
	}
	request, err := json.Marshal(step) // which is YAML
	if err != nil {
		b.t.Fatal(err)
	}
	source := testPolicy + "tests: [{name: a, send: [" + string(request) + "], expect: [allow]}]\n"
	p, wrong := policy.Parse("shop.yaml", []byte(source))
	if wrong != nil {
		b.t.Fatalf("%v\n%s", wrong, source)
	}
	line := strings.Count(testPolicy, "\n") + 1
	var got []fault.Field
	for _, d := range trial.Run(p)[0].Differences {
		for _, m := range d.Wrong {
			got = append(got, fault.Field{Pointer: "#/" + strings.ReplaceAll(m.Member, ".", "/"), Detail: m.Detail})
			if m.Line != line || m.Column <= len("tests: [{name: a, send: [") {
				b.t.Errorf("%s stands at %d:%d", m.Member, m.Line, m.Column)
			}
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("a test says %q, want %q", got, want)
	}
}

func nonEmpty(m map[string]string) map[string]string {
	maps.DeleteFunc(m, func(_, value string) bool { return value == "" })
	return m
}

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "x"
	}
	return m
}

func TestAllWrongFieldsAtOnce(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Sender = "" })
	f := b.refused(Submission{Members: request.Members{To: "x", Purpose: "order", ValidFor: "soon", Metadata: many(50)}}, fault.Invalid)
	var got []string
	for _, field := range f.Fields {
		got = append(got, field.Pointer)
	}
	want := []string{"#/to", "#/sender", "#/text", "#/valid_for", "#/metadata", "#/event/id", "#/event/version"}
	if !slices.Equal(got, want) {
		t.Errorf("fields %v, want %v", got, want)
	}
}

// What is at a limit passes.
func TestLimits(t *testing.T) {
	b := newBench(t)
	s := order(strings.Repeat("é", request.MaxName))
	s.ValidFor, s.Text = "72h", strings.Repeat("x", 160)
	s.Metadata = many(request.MaxMetadata - 1)
	s.Metadata[strings.Repeat("é", request.MaxMetadataKey)] = strings.Repeat("é", request.MaxMetadataValue)
	b.submit(s)
	code := login("1")
	code.ValidFor, code.Text = "1s", strings.Repeat("ж", 70)
	if a := b.submit(code); a.Encoding != UCS2 {
		t.Errorf("encoding %s", a.Encoding)
	}
}

// White space around a name makes no second message.
//
// covers: D7
func TestNamesAreTrimmed(t *testing.T) {
	b := newBench(t)
	named := order("A-1")
	named.Template, named.CorrelationID = intent.Template{ID: "t", Version: "3"}, "c-1"
	first := b.submit(named)
	spaced := named
	for _, name := range []*string{
		&spaced.Event.Type, &spaced.Event.ID, &spaced.Event.Version, &spaced.Template.ID, &spaced.Template.Version, &spaced.CorrelationID,
	} {
		*name = "\u00a0 \t" + *name + "\u3000\n"
	}
	a := b.submit(spaced)
	if a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("with spaces around its names: %s", a.Decision.Action)
	}
	if spaced.Event.ID == "A-1" {
		t.Error("the caller's own submission was changed")
	}
	b = newBench(t)
	got := b.store.saved(b.submit(spaced).Decision.Message.ID)
	if got.Event != named.Event || got.Template != named.Template || got.CorrelationID != "c-1" {
		t.Errorf("stored: %q %q %q", got.Event, got.Template, got.CorrelationID)
	}
}

// A number that nobody was given is texted or refused, as the gateway is set up; which is said with the reason.
//
// covers: D2
func TestUnassignedDestinations(t *testing.T) {
	unassigned := order("A-1")
	unassigned.To = "+447700900123" // Ofcom's range for drama
	if a := newBench(t).submit(unassigned); a.Decision.Action != intent.Allow {
		t.Errorf("by default: %s", a.Decision.Action)
	}
	b := newBench(t, func(c *Config) { c.RefuseUnassigned = true })
	if f := b.refused(unassigned, fault.Invalid); len(f.Fields) != 1 || f.Fields[0].Pointer != "#/to" || !strings.Contains(f.Fields[0].Detail, "given this number out") {
		t.Errorf("fields %q", f.Fields)
	}
	if b.store.reserved() != 0 {
		t.Error("something was reserved")
	}
	b.submit(order("A-2"))
}

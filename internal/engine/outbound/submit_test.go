package outbound

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/batch"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// covers: D2, D14
func TestAnAllowedRequestIsStoredSealed(t *testing.T) {
	b := newBench(t)
	s := order("A-1")
	s.CorrelationID, s.ValidFor, s.Metadata = "c1", "90s", map[string]string{"cart": "9"}
	a := b.submit(s)
	if a.Decision.Action != intent.Allow || a.Decision.PolicyID != "shop@1" || a.Replayed || a.DryRun || !a.Simulated || a.Encoding != GSM7 || a.Parts != 1 {
		t.Errorf("answer %+v", a)
	}
	got := b.store.saved(a.Decision.Message.ID)
	if got.To.E164() != number || got.Sender != "SHOP" || got.Submission.Connection != 7 || got.Caller != "key1" || got.ValidFor != 90*time.Second || got.OwnKey != nil {
		t.Errorf("stored to %s from %s over %d, %s", got.To, got.Sender, got.Submission.Connection, got.ValidFor)
	}
	if want := (store.FlowSpec{Connection: 7, Lane: 2, Tenant: 3, Sender: "SHOP", Purpose: "order"}); b.store.flows[want] != got.Submission.Flow {
		t.Errorf("flow %d of %v", got.Submission.Flow, b.store.flows)
	}
	b.hides(string(got.Content) + string(got.Metadata))
	content, err := b.contents.Content(bg, got.Submission.Message, got.Content, nil)
	if err != nil || !reflect.DeepEqual(content, Content{ToRaw: rawNumber, Text: text}) {
		t.Errorf("content: %v", err)
	}
	opened, err := b.contents.Open(bg, store.Opened{Claimed: store.Claimed{Message: got.Submission.Message}, Part: 1, Content: got.Content})
	if err != nil || opened != text {
		t.Errorf("opened to be sent: %v", err)
	}
	metadata, err := b.contents.Metadata(bg, got.Submission.Message, got.Metadata, nil)
	if err != nil || !reflect.DeepEqual(metadata, s.Metadata) {
		t.Errorf("metadata %v: %v", metadata, err)
	}
	if b.woken.Load() != 1 {
		t.Errorf("woken %d times", b.woken.Load())
	}
}

// covers: D2, D7
func TestManyIdenticalRequestsMakeOneMessage(t *testing.T) {
	b := newBench(t, oneWriter)
	spellings := []string{rawNumber, number, "202-555-0143", "1 202 555 0143", "٢٠٢٥٥٥٠١٤٣", "+1\u00a0202.555.0143"}
	answers := make([]Answer, 200)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			s := order("A-1")
			s.To = spellings[i%len(spellings)]
			var err error
			if answers[i], err = b.Submit(bg, s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	allowed := 0
	for _, a := range answers {
		if a.Decision.Action == intent.Allow {
			allowed++
		}
		if a.Decision.Message.ID != answers[0].Decision.Message.ID {
			t.Error("an answer names another message")
		}
	}
	if allowed != 1 || len(b.store.messages) != 1 || b.woken.Load() != 1 {
		t.Errorf("%d allowed, %d messages, woken %d times", allowed, len(b.store.messages), b.woken.Load())
	}
}

// covers: D17
func TestAnotherTextIsNeverSilent(t *testing.T) {
	b := newBench(t)
	first := b.submit(order("A-1"))
	other := order("A-1")
	other.Text = "Your parcel 2718281828 is late."
	a := b.submit(other)
	if a.Decision.Action != intent.Suppress || *a.Decision.SameText || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("another text of an order: %+v", a.Decision)
	}
	code := login("1")
	b.submit(code)
	if a := b.submit(code); a.Decision.Action != intent.Suppress || !*a.Decision.SameText {
		t.Errorf("the same code again: %+v", a.Decision)
	}
	code.Text = "Your code is 2718281828-2"
	if a := b.submit(code); a.Decision.Action != intent.Allow || *a.Decision.SameText {
		t.Errorf("another code: %+v", a.Decision)
	}
}

func login(v string) Submission {
	s := order("session 1")
	s.Purpose, s.Event.Version, s.Text = "login", v, "Your code is 2718281828"
	return s
}

// covers: D15
func TestACodeHasAKeyOfItsOwn(t *testing.T) {
	b := newBench(t)
	s := login("1")
	s.Metadata = map[string]string{"code": "2718281828"}
	got := b.store.saved(b.submit(s).Decision.Message.ID)
	if got.OwnKey == nil || got.OwnKeyFor != 5*time.Minute || got.ValidFor != 10*time.Minute {
		t.Errorf("own key for %s, valid for %s", got.OwnKeyFor, got.ValidFor)
	}
	id := got.Submission.Message
	if c, err := b.contents.Content(bg, id, got.Content, got.OwnKey); err != nil || c.Text != s.Text {
		t.Errorf("with its key: %v", err)
	}
	if m, err := b.contents.Metadata(bg, id, got.Metadata, got.OwnKey); err != nil || m["code"] != "2718281828" {
		t.Errorf("metadata with its key: %v", err)
	}
	if _, err := b.contents.Content(bg, id, got.Content, nil); err == nil {
		t.Error("the text opens when its key is destroyed")
	}
	if _, err := b.contents.Metadata(bg, id, got.Metadata, nil); err == nil {
		t.Error("the metadata open when the key is destroyed")
	}
	if len(b.store.keys) != 0 {
		t.Error("something of it is sealed under a key of the day")
	}
}

// covers: D19
func TestLanesByKind(t *testing.T) {
	b := newBench(t)
	for purpose, lane := range map[string]int{"login": 0, "alert": 1, "order": 2, "sale": 4} {
		s := order("A-1")
		s.Purpose = purpose
		b.submit(s)
		b.submit(s)
		if b.store.flows[store.FlowSpec{Connection: 7, Lane: lane, Tenant: 3, Sender: "SHOP", Purpose: purpose}] == 0 {
			t.Errorf("%s has no flow in lane %d", purpose, lane)
		}
	}
	if b.store.asked != 4 {
		t.Errorf("the store was asked %d times for four flows", b.store.asked)
	}
}

// covers: D4
func TestADryRunReservesNothing(t *testing.T) {
	b := newBench(t)
	dry := keyed(order("A-1"), "k")
	dry.DryRun = true
	for range 2 {
		if a := b.submit(dry); a.Decision.Action != intent.Allow || !a.DryRun || a.Encoding != GSM7 || a.Parts != 1 {
			t.Errorf("before: %+v", a)
		}
	}
	if b.store.reserved() != 0 || b.woken.Load() != 0 {
		t.Error("a dry run left something")
	}
	first := b.submit(order("A-1"))
	if a := b.submit(dry); a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("after: %+v", a.Decision)
	}
	dry.Text = "Привет"
	if a := b.submit(dry); a.Encoding != UCS2 {
		t.Errorf("encoding %s", a.Encoding)
	}
	b.store.fail = fault.New(fault.Unavailable, "down")
	b.refused(dry, fault.Unavailable)
}

// covers: D8
func TestTheSameKeyAndRequestGivesTheSameAnswer(t *testing.T) {
	b := newBench(t)
	s := keyed(order("A-1"), "k")
	first := b.submit(s)
	b.store.set(first.Decision.Message.ID, message.Delivered)
	again := b.submit(s)
	if !again.Replayed || !reflect.DeepEqual(again.Decision, first.Decision) || again.Encoding != first.Encoding || again.Simulated != first.Simulated {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
	if len(b.store.decisions) != 1 || b.woken.Load() != 1 {
		t.Errorf("%d decisions, woken %d times", len(b.store.decisions), b.woken.Load())
	}
	elsewhere := s
	elsewhere.Operation = "verifications"
	if a := b.submit(elsewhere); a.Replayed {
		t.Error("another operation's key answered")
	}
	stranger := s
	stranger.Tenant = 4
	if a := b.submit(stranger); a.Replayed || a.Decision.Action != intent.Allow {
		t.Error("another tenant's key answered")
	}
}

// covers: D8
func TestTheSameKeyAndAnotherRequestIsAnError(t *testing.T) {
	b := newBench(t)
	b.submit(keyed(order("A-1"), "k"))
	other := keyed(order("A-2"), "k")
	other.Canonical["text"] = []byte(`"changed"`)
	f := b.refused(other, fault.IdempotencyMismatch)
	var pointers []string
	for _, field := range f.Fields {
		pointers = append(pointers, field.Pointer)
	}
	if !reflect.DeepEqual(pointers, []string{"#/event", "#/text"}) {
		t.Errorf("differing: %v", pointers)
	}
	other.Purpose = "nothing such" // the key comes before what is wrong with the request
	b.refused(other, fault.IdempotencyMismatch)
	if len(b.store.decisions) != 1 {
		t.Error("the other request was decided")
	}
}

// covers: D8
func TestANewPolicyTurnsNoRetryIntoAnError(t *testing.T) {
	b := newBench(t)
	s := keyed(order("A-1"), "k")
	first := b.submit(s)
	b.store.put(version(2, strings.Replace(testPolicy, "  order:", "  renamed:", 1)))
	b.submit(alert("A-1")) // by which the service learns of the new policy
	if again := b.submit(s); !again.Replayed || again.Decision.ID != first.Decision.ID {
		t.Errorf("the retry: %+v", again)
	}
	before := b.store.reserved()
	s.IdempotencyKey = "fresh"
	if f := b.refused(s, fault.Invalid); f.Fields[0].Pointer != "#/purpose" {
		t.Errorf("fields %v", f.Fields)
	}
	if b.store.reserved() != before {
		t.Error("a malformed request was stored under its key")
	}
}

func alert(id string) Submission {
	s := order(id)
	s.Purpose = "alert"
	return s
}

// covers: D6
func TestAPolicyThatChangesMeanwhile(t *testing.T) {
	b := newBench(t)
	first := b.submit(order("A-1"))
	wider := strings.Replace(testPolicy, "key: [event.id, event.version, sender]", "key: [event.id]", 1)
	b.store.put(version(2, wider))
	a := b.submit(order("A-1"))
	if a.Decision.PolicyID != "shop@2" || a.Decision.Action != intent.Suppress || a.Decision.Message.ID != first.Decision.Message.ID {
		t.Errorf("under the older key: %+v", a.Decision)
	}
	n := 2
	b.store.before = func([]store.Submission) { // always one ahead
		n++
		b.store.put(version(n, testPolicy))
	}
	if f := b.refused(order("A-2"), fault.Unavailable); f.RetryAfter == 0 || n != 2+maxTries {
		t.Errorf("after %d tries: %v", n-2, f)
	}
	b.store.before = nil
	b.store.mu.Lock()
	b.store.head = "shop@9"
	b.store.policies["shop@9"] = store.PolicyVersion{Name: "shop", Version: 9, Source: []byte("policy: x")}
	b.store.mu.Unlock()
	b.refused(order("A-3"), fault.Internal)
}

// covers: D7
func TestWhatACallerIsToldWhenItCannotBeDecided(t *testing.T) {
	shared := fault.New(fault.Unavailable, "the store cannot be reached")
	for name, c := range map[string]struct {
		err  error
		code fault.Code
	}{
		"unavailable": {shared, fault.Unavailable}, "defect": {errors.New("broken"), fault.Internal},
		"in progress": {fault.New(fault.InProgress, "wait").After(2 * time.Second), fault.InProgress},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.fail = c.err
			f := b.refused(order("A-1"), c.code)
			if c.code != fault.Internal && f.RetryAfter == 0 {
				t.Error("without Retry-After")
			}
			if len(b.store.messages) > 0 || b.woken.Load() > 0 {
				t.Error("something was made of it")
			}
		})
	}
	if shared.RetryAfter != 0 {
		t.Error("the fault of a batch was changed under its callers")
	}
}

func TestAFullQueueAndAnEndedOne(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Batch = batch.Config{Max: 1, Writers: 1, Depth: 1} })
	begun, pass := make(chan struct{}), make(chan struct{})
	b.store.before = func([]store.Submission) { begun <- struct{}{}; <-pass }
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = b.Submit(bg, order("A-1")) })
	<-begun
	ctx, cancel := context.WithCancel(bg)
	wg.Go(func() {
		_, err := b.Submit(ctx, order("A-2"))
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("a caller that went away got %v", err)
		}
	})
	for b.writers.waiting() == 0 {
		runtime.Gosched()
	}
	if f := b.refused(order("A-3"), fault.Unavailable); f.RetryAfter == 0 {
		t.Error("full, without Retry-After")
	}
	cancel()
	for b.writers.waiting() != 0 {
		runtime.Gosched()
	}
	close(pass)
	wg.Wait()
	b.Close()
	b.refused(order("A-4"), fault.Unavailable)
	if len(b.store.messages) != 1 {
		t.Errorf("%d messages", len(b.store.messages))
	}
}

func TestDecisionsAreCounted(t *testing.T) {
	b := newBench(t)
	s := keyed(order("A-1"), "k")
	for range 3 {
		b.submit(s)
	}
	b.submit(order("A-1"))
	b.refused(keyed(order("A-2"), "k"), fault.IdempotencyMismatch)
	b.refused(Submission{}, fault.Invalid)
	want := map[string]float64{
		"einmal_decisions_total allow new_intent enforce order no_equivalent ":                   1,
		"einmal_decisions_total suppress technical_duplicate enforce order same_intent_pending ": 1,
		"einmal_idempotency_total mismatch":                                                      1,
		"einmal_idempotency_total replayed":                                                      2,
	}
	if got := b.counters(); !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v", got)
	}
}

// counters lists the counters with their labels' values, in the order of the labels' names.
func (b *bench) counters() map[string]float64 {
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if m.Counter == nil {
				continue
			}
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			all[name] = m.Counter.GetValue()
		}
	}
	return all
}

package demo

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

// intent is one thing that somebody should be told once.
type intent struct {
	to, text string
	body     map[string]any
	lost     bool // the carrier answers nothing
	answers  []answer

	// How it was found at the end.
	message     api.OneMessageView
	exceptions  []api.ExceptionView
	byReference bool // a receipt was matched by our own reference
	onPhones    int
}

// intent makes one, to a number with these last digits, which choose what the simulated carrier does.
func (s *stage) intent(purpose, digits, what string) *intent {
	s.made++
	it := &intent{to: "+120255501" + digits, text: fmt.Sprintf("Demo %s: %s (%d).", s.run, what, s.made)}
	it.body = map[string]any{
		"to": it.to, "purpose": purpose, "text": it.text,
		"event": map[string]any{"type": "demo", "id": fmt.Sprintf("demo-%s-%d", s.run, s.made), "version": "1"},
	}
	return it
}

func (s *stage) order(digits, what string) *intent {
	return s.intent("order_confirmation", digits, what)
}

// ask sends the request once.
func (s *stage) ask(ctx context.Context, it *intent) error {
	a, err := s.send(ctx, it.body, "")
	it.answers = append(it.answers, a)
	return err
}

// id is the message that the answers name; the first one, should they differ.
func (it *intent) id() string {
	for _, a := range it.answers {
		if a.Message != "" {
			return a.Message
		}
	}
	return ""
}

// messages are how many were made for it.
func (it *intent) messages() int {
	n := 0
	for _, a := range it.answers {
		if a.Action == "allow" && !a.Replayed {
			n++
		}
	}
	return n
}

// agreed says that every request was answered, with the same message.
func (it *intent) agreed() bool {
	return it.id() != "" && !slices.ContainsFunc(it.answers, func(a answer) bool { return a.Message != it.id() })
}

// find looks how everything stands: the messages, what is open for a person, and what is on the phones.
func (s *stage) find(ctx context.Context, intents []*intent) error {
	count, err := s.counter(ctx, intents)
	if err != nil {
		return err
	}
	for _, it := range intents {
		it.onPhones = count[it.text]
		if it.id() == "" {
			continue // nothing was made; the promises say so
		}
		if err := s.look(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) look(ctx context.Context, it *intent) error {
	if err := s.get(ctx, "/v1/messages/"+it.id(), &it.message); err != nil {
		return err
	}
	var open api.List[api.ExceptionView]
	if err := s.get(ctx, "/v1/exceptions?message="+url.QueryEscape(it.id()), &open); err != nil {
		return err
	}
	it.exceptions = open.Data
	var story api.Timeline
	if err := s.get(ctx, "/v1/messages/"+it.id()+"/timeline", &story); err != nil {
		return err
	}
	it.byReference = slices.ContainsFunc(story.Data, func(l api.TimelineView) bool { return l.Match == "own_reference" })
	return nil
}

// marked waits a moment for what receipts do beside moving the state, which no state tells.
func (s *stage) marked(ctx context.Context, it *intent) error {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if err := s.get(ctx, "/v1/messages/"+it.id(), &it.message); err != nil || len(it.message.ReceiptMarks) > 0 {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

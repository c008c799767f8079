package demo

import (
	"context"
	"fmt"
)

// scene is one thing that goes wrong.
type scene struct {
	name  string // in the table
	story string // what happens, in the present
	play  func(context.Context, *stage) ([]*intent, error)
}

// scenes are played in this order. What they ask for is bounded: some 400 requests, 32 of them at a time.
var scenes = []scene{
	{"a double click", "A customer clicks until something happens: 25 requests for one order arrive at the same moment.", doubleClick},
	{"two tabs", "The same checkout is open in two tabs, and both confirm it, each with ids of its own.", twoTabs},
	{"a queue that delivers twice", "A queue hands the same job to a worker three times, with the job's idempotency key.", redelivered},
	{"a loop", "A retry loop has no end: 300 requests for one order, as fast as they go.", loop},
	{"a list with doubles", "A batch of 25 confirmations names five orders twice.", listWithDoubles},
	{"two orders, one customer", "One customer places two orders, with nearly the same text: both are meant.", twoOrders},
	{"a carrier that refuses", "A carrier rejects one message, asks for patience with another, and cannot deliver a third.", refusals},
	{"receipts out of order", "Receipts come twice, late, in contradiction, and before the answer to the submission.", receipts},
	{"lost answers", "Answers get lost: twice the carrier has the message, once it has not, and nobody can tell. The application asks again.", lostAnswers},
}

func doubleClick(ctx context.Context, s *stage) ([]*intent, error) {
	it := s.order("20", "your order is confirmed")
	if err := s.together(ctx, it, 25, 25); err != nil {
		return nil, err
	}
	return s.delivered(ctx, it)
}

func twoTabs(ctx context.Context, s *stage) ([]*intent, error) {
	it := s.order("21", "your order is confirmed")
	for _, tab := range []string{"left", "right"} {
		it.body["correlation_id"] = "tab-" + tab
		a, err := s.send(ctx, it.body, fmt.Sprintf("demo-%s-%s", s.run, tab))
		if err != nil {
			return nil, err
		}
		it.answers = append(it.answers, a)
	}
	return s.delivered(ctx, it)
}

func redelivered(ctx context.Context, s *stage) ([]*intent, error) {
	it := s.order("22", "your parcel is on its way")
	for range 3 {
		a, err := s.send(ctx, it.body, "demo-"+s.run+"-job")
		if err != nil {
			return nil, err
		}
		it.answers = append(it.answers, a)
	}
	return s.delivered(ctx, it)
}

func loop(ctx context.Context, s *stage) ([]*intent, error) {
	it := s.order("23", "your invoice is ready")
	if err := s.together(ctx, it, 300, 20); err != nil {
		return nil, err
	}
	return s.delivered(ctx, it)
}

func listWithDoubles(ctx context.Context, s *stage) ([]*intent, error) {
	var all []*intent
	for i := range 20 {
		all = append(all, s.order(fmt.Sprint(30+i), "we deliver tomorrow"))
	}
	list := append(append([]*intent{}, all...), all[:5]...)
	bodies := make([]map[string]any, len(list))
	for i, it := range list {
		bodies[i] = it.body
	}
	answers, err := s.sendAll(ctx, bodies)
	if err != nil {
		return nil, err
	}
	for i, it := range list {
		it.answers = append(it.answers, answers[i])
	}
	return s.delivered(ctx, all...)
}

func twoOrders(ctx context.Context, s *stage) ([]*intent, error) {
	first, second := s.order("24", "your order is confirmed"), s.order("24", "your order is confirmed")
	for _, it := range []*intent{first, second} {
		if err := s.ask(ctx, it); err != nil {
			return nil, err
		}
	}
	return s.delivered(ctx, first, second)
}

func refusals(ctx context.Context, s *stage) ([]*intent, error) {
	var all []*intent
	for _, digits := range []string{"02", "03", "01"} {
		it := s.intent("alert", digits, "the door is open")
		if err := s.ask(ctx, it); err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	return s.ended(ctx, "delivered,undelivered,rejected", all...)
}

func receipts(ctx context.Context, s *stage) ([]*intent, error) {
	var all []*intent
	for _, digits := range []string{"06", "07", "08", "09"} {
		it := s.intent("alert", digits, "the door is open")
		if err := s.ask(ctx, it); err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	if _, err := s.delivered(ctx, all...); err != nil {
		return nil, err
	}
	for _, it := range all[:3] { // the last one has one receipt, which is early
		if it.id() == "" {
			continue
		}
		if err := s.marked(ctx, it); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lostAnswers lets the connection be cut last, so that what is lost is lost for its own reason.
func lostAnswers(ctx context.Context, s *stage) ([]*intent, error) {
	var all []*intent
	for _, group := range [][]string{{"04", "05"}, {"12"}} {
		var some []*intent
		for _, digits := range group {
			it := s.intent("alert", digits, "the alarm is on")
			it.lost = true
			if err := s.ask(ctx, it); err != nil {
				return nil, err
			}
			some = append(some, it)
		}
		if _, err := s.ended(ctx, "unknown,delivered", some...); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for _, it := range all {
		if err := s.ask(ctx, it); err != nil {
			return nil, err
		}
	}
	_, err := s.delivered(ctx, all[0], all[2]) // those that the carrier has: their receipts come
	return all, err
}

func (s *stage) delivered(ctx context.Context, all ...*intent) ([]*intent, error) {
	return s.ended(ctx, "delivered", all...)
}

// ended waits for the messages to be in one of the states. How they really are is looked at later.
func (s *stage) ended(ctx context.Context, states string, all ...*intent) ([]*intent, error) {
	for _, it := range all {
		if it.id() == "" {
			continue
		}
		if err := s.wait(ctx, it.id(), states); err != nil {
			return nil, err
		}
	}
	return all, nil
}

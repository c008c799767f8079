package app

import (
	"context"
	"errors"
	"slices"

	"github.com/einmal/einmal/internal/provider"
)

// phones are the handsets of several simulated carriers: a number's messages are shown together, in the order in which
// they came, and numbered anew.
type phones []provider.Phones

var _ provider.Phones = phones(nil)

// Received implements provider.Phones.
func (p phones) Received(number string, after int64) []provider.PhoneMessage {
	var all []provider.PhoneMessage
	came := int64(0) // those that are forgotten are counted, too
	for _, one := range p {
		some := one.Received(number, 0)
		all, came = append(all, some...), came+lastOf(some).N
	}
	slices.SortStableFunc(all, func(a, b provider.PhoneMessage) int { return a.At.Compare(b.At) })
	for i := range all {
		all[i].N = came - int64(len(all)-i-1)
	}
	return slices.DeleteFunc(all, func(m provider.PhoneMessage) bool { return m.N <= after })
}

// Await implements provider.Phones.
func (p phones) Await(ctx context.Context, number string, after int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := make([]int64, len(p))
	for i, one := range p {
		before[i] = lastOf(one.Received(number, 0)).N
	}
	if len(p.Received(number, after)) > 0 {
		return
	}
	ended := make(chan struct{}, len(p))
	for i, one := range p {
		go func() {
			one.Await(ctx, number, before[i])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// Answer implements provider.Phones. It goes to the carrier that the handset got its last message from.
func (p phones) Answer(ctx context.Context, number, to, text string) error {
	last := slices.MaxFunc(p, func(a, b provider.Phones) int {
		return lastOf(a.Received(number, 0)).At.Compare(lastOf(b.Received(number, 0)).At)
	})
	err := last.Answer(ctx, number, to, text)
	for _, one := range p {
		if !errors.Is(err, provider.ErrNobody) {
			break
		}
		err = one.Answer(ctx, number, to, text)
	}
	return err
}

func lastOf(all []provider.PhoneMessage) (last provider.PhoneMessage) {
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	return last
}

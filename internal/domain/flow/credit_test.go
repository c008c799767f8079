package flow

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einmal/einmal/internal/ground/clock"
)

const start clock.Micros = 1_800_000_000_000_000

// Over any stretch of time no more leaves than the rate allows, and what may go ahead of it.
//
// covers: D19
func TestARateIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(1, 2_000).Draw(t, "ms between two")) * time.Millisecond
		purse := Purse{"": {Every: every}}
		var left []clock.Micros
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "moments") {
			now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond)
			lane := rapid.SampledFrom([]int{Urgent, 4}).Draw(t, "lane")
			for purse.Spend(now, lane, "S") {
				left = append(left, now)
			}
		}
		ahead := (&Credit{Every: every}).ahead(Urgent)
		for i := range left {
			for j := i; j < len(left); j++ {
				if most := int((left[j].Sub(left[i]) + ahead) / every); j-i+1 > most {
					t.Fatalf("%d messages left in %s, one every %s; at most %d", j-i+1, left[j].Sub(left[i]), every, most)
				}
			}
		}
	})
}

// A campaign at its rate leaves credit for codes.
//
// covers: D19
func TestACampaignAtItsRateLeavesCreditForCodes(t *testing.T) {
	for _, every := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute} {
		purse := Purse{"": {Every: every}, "SHOP": {Every: every}}
		campaign, codes := 0, 0
		for purse.Spend(start, 4, "SHOP") {
			campaign++
		}
		for purse.Spend(start, Urgent, "SHOP") {
			codes++
		}
		if want := int(max(Ahead, every) / every); campaign != want || codes != want {
			t.Errorf("one every %s: %d of the campaign and then %d codes at once, want %d and %d", every, campaign, codes, want, want)
		}
		if wait := purse.Wait(start, 4, "SHOP"); wait != max(Ahead, every)+min(every, every) {
			t.Errorf("one every %s: the campaign waits %s", every, wait)
		}
	}
}

// Senders have credit of their own beside the connection's, and a sender without a rate has the connection's alone.
func TestASendersCreditIsItsOwn(t *testing.T) {
	purse := Purse{"": {Every: 10 * time.Millisecond}, "SLOW": {Every: time.Second}}
	if !purse.Spend(start, 4, "SLOW") || purse.Spend(start, 4, "SLOW") {
		t.Error("the slow sender does not get exactly one")
	}
	if n := 0; true {
		for purse.Spend(start, 4, "OTHER") {
			n++
		}
		if n != 9 {
			t.Errorf("the other sender gets %d of what is left of the connection's ten", n)
		}
	}
	purse.GiveBack(1, "SLOW")
	if !purse.Spend(start, 4, "SLOW") {
		t.Error("credit that was given back is gone")
	}
	if !(Purse{}).Spend(start, 4, "SLOW") || Purse(nil).Wait(start, 4, "SLOW") != 0 {
		t.Error("without rates somebody waits")
	}
}

// A clock that steps back, and a rate that was slower until now, hold nothing for long.
func TestCreditThatLiesFarAheadIsNotWaitedFor(t *testing.T) {
	c := Credit{Every: 10 * time.Millisecond, Spent: start.Add(time.Hour)}
	if wait := c.Wait(start, 4); wait > 2*Ahead {
		t.Errorf("the wait is %s", wait)
	}
}

func TestSlowedRates(t *testing.T) {
	rates := Rates{"": 10 * time.Millisecond, "SHOP": 20 * time.Millisecond}
	slowed := rates.Slowed(0.5)
	if slowed[""] != 20*time.Millisecond || slowed["SHOP"] != 20*time.Millisecond || rates[""] != 10*time.Millisecond {
		t.Errorf("at half the pace %v became %v", rates, slowed)
	}
}

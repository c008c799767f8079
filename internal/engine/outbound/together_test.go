package outbound

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/fault"
)

// Requests that come together are decided in their order, each by itself: of equal ones the first makes the message,
// and what is wrong with one concerns no other.
//
// covers: D7, D8, I2
func TestSubmitAllKeepsTheOrder(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "einmal.db"))
	defer r.close(t)
	var subs []Submission
	const n = 60
	for i := range n {
		s := r.order(fmt.Sprint("order-", i%20)) // each three times
		switch {
		case i%20 == 7:
			s.To = "nobody"
		case i%20 == 8:
			s = keyed(s, "key-8") // the same request under the same key: a replay
		}
		subs = append(subs, s)
	}
	got := r.SubmitAll(bg, subs)
	if len(got) != n {
		t.Fatalf("%d answers to %d requests", len(got), n)
	}
	for i, s := range got {
		first := got[i%20]
		switch {
		case i%20 == 7:
			if fault.CodeOf(s.Err) != fault.Invalid {
				t.Errorf("request %d: %v", i, s.Err)
			}
		case s.Err != nil:
			t.Errorf("request %d: %v", i, s.Err)
		case i < 20:
			if s.Answer.Decision.Action != intent.Allow {
				t.Errorf("the first of its kind, request %d, is %s", i, s.Answer.Decision.Action)
			}
		case s.Answer.Decision.Message.ID != first.Answer.Decision.Message.ID:
			t.Errorf("request %d names another message than the first of its kind", i)
		case i%20 == 8:
			if !s.Answer.Replayed {
				t.Errorf("request %d is no replay", i)
			}
		case s.Answer.Decision.Action != intent.Suppress:
			t.Errorf("request %d is %s", i, s.Answer.Decision.Action)
		}
	}
	if got := r.SubmitAll(bg, nil); len(got) != 0 {
		t.Errorf("%d answers to nothing", len(got))
	}
}

// Of equal requests that name no purpose the first makes the message, and the others are told that they stand in the
// same batch. The whole batch again is its caller asking again.
//
// covers: D18, D14
func TestTheSameTwiceInABatch(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "einmal.db"))
	defer r.close(t)
	subs := []Submission{bare(text), bare("another"), bare(text), bare(text)}
	got, again := r.SubmitAll(bg, subs), r.SubmitAll(bg, subs)
	first := got[0].Answer.Decision.Message.ID
	for i, s := range slices.Concat(got, again) {
		d := s.Answer.Decision
		const batch, retry = "asked for before this one in the same batch", "taken for its caller asking again"
		switch {
		case s.Err != nil:
			t.Errorf("request %d: %v", i, s.Err)
		case i < 2:
			if d.Action != intent.Allow {
				t.Errorf("request %d: %s", i, d.Explanation)
			}
		case i < 4:
			if d.Action != intent.Suppress || d.Message.ID != first || !strings.Contains(d.Explanation, batch) || strings.Contains(d.Explanation, retry) {
				t.Errorf("request %d: %s", i, d.Explanation)
			}
		case d.Action != intent.Suppress || strings.Contains(d.Explanation, batch) || !strings.Contains(d.Explanation, retry):
			t.Errorf("request %d: %s", i, d.Explanation)
		}
	}
}

// A dry run says what would be decided in its place: it sees what is before it, and nothing that comes after.
//
// covers: D3, D7
func TestDryRunsAmongOthersAreToldInTheirPlace(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "einmal.db"))
	defer r.close(t)
	dry := func(s Submission) Submission {
		s.DryRun = true
		return s
	}
	const rounds = 20
	var subs []Submission
	for i := range rounds {
		s := r.order(fmt.Sprint("order-", i))
		subs = append(subs, dry(s), s, dry(s), s)
	}
	got := r.SubmitAll(bg, subs)
	for i, s := range got {
		want := intent.Suppress
		if i%4 < 2 {
			want = intent.Allow
		}
		if d := s.Answer.Decision; s.Err != nil || d.Action != want || want == intent.Suppress && d.Compared != got[i/4*4+1].Answer.Decision.Message.ID {
			t.Errorf("request %d: %v %v", i, d, s.Err)
		}
	}
}

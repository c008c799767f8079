package dispatch

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/einmal/einmal/internal/domain/evidence"
	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/ground/chaos"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

func (d *Dispatcher) openLoop(ctx context.Context) {
	for {
		batch, ok := d.claims.take(maxBatch)
		if !ok {
			return
		}
		d.open(ctx, batch)
		for _, c := range batch {
			d.reserved.add(c.Claimed, -int64(max(c.Most, 1)))
		}
		signal(d.room)
	}
}

// open commits an attempt for each claim and submits it. A claim that is too late for a write, or that comes
// while the dispatcher stops, is given back without an attempt.
func (d *Dispatcher) open(ctx context.Context, batch []claim) {
	deadlines := make(map[ident.Message]time.Time, len(batch))
	claims := make([]store.Claimed, 0, len(batch))
	now, stopping, late := time.Now(), d.isStopping(), 0
	for _, c := range batch {
		tooLate := !now.Before(c.deadline)
		if tooLate {
			late++
		}
		if stopping || tooLate {
			d.giveBack(c.Claimed)
			continue
		}
		deadlines[c.Message] = c.deadline
		claims = append(claims, c.Claimed)
	}
	d.noteLate(late, now)
	if len(claims) == 0 {
		return
	}
	opened, err := d.cfg.Store.OpenAttempts(ctx, d.openSpec(), claims)
	if err != nil {
		// Whether it was committed is not known. If it was not, giving back frees the message at once; if it
		// was, the store refuses that, and the end of the lease calls the attempt unknown.
		d.logError(ctx, "no attempt could be opened; the messages are given back", err)
		for _, c := range claims {
			d.giveBack(c)
		}
		return
	}
	chaos.At(chaos.AttemptCommitted)
	if slices.ContainsFunc(opened, func(o store.Opened) bool { return o.Part > 1 }) {
		chaos.At(chaos.RestCommitted)
	}
	for _, o := range opened {
		d.submit(ctx, o, deadlines[o.Message])
	}
	d.afterOpening(claims, opened, deadlines)
}

// afterOpening gives back claims under which nothing was opened: nothing has come of them, and somebody may send the
// message, or its rest, in time: at once, or once a stop that holds it is lifted. Parts that do not wait for the first
// one go on at once.
func (d *Dispatcher) afterOpening(claims []store.Claimed, opened []store.Opened, deadlines map[ident.Message]time.Time) {
	begun := map[ident.Message]bool{}
	for _, o := range opened {
		begun[o.Message] = true
		if d.cfg.Connection.Together && o.Most == 0 && o.Text.Parts > 1 {
			more := o.Claimed
			more.Most = o.Text.Parts - 1
			d.later(claim{more, deadlines[o.Message]})
		}
	}
	for _, c := range claims {
		if !begun[c.Message] {
			d.giveBack(c)
		}
	}
}

func (d *Dispatcher) openSpec() store.OpenSpec {
	return store.OpenSpec{
		Node: d.cfg.Node, Connection: d.cfg.Connection.ID, IDSpace: d.cfg.Connection.IDSpace,
		WithReference: true, LookBack: d.cfg.Rules.LookBack, Addressing: d.cfg.Addressing,
		// The provider's own time begins with the write, which a lease ago was still ahead; the rest is for the
		// outcome's way into the store.
		AnswerBy: d.cfg.ResponseTimeout + 2*d.cfg.Lease,
		Together: d.cfg.Connection.Together, OneReceipt: d.cfg.Connection.OneReceipt,
		Rates: d.cfg.Connection.Rates.Slowed(d.pause.share(time.Now())),
	}
}

// submit hands one opened attempt to the provider. A text that cannot be opened any more ends the message: it
// was not sent and never can be, so it has failed, and no provider is blamed for it.
//
// What has no time left is not sent: a provider may read "no time" as "no limit". A message whose validity is
// over waits for the sweep that lets it expire; one without a slot waits for whoever has it.
func (d *Dispatcher) submit(ctx context.Context, o store.Opened, deadline time.Time) {
	d.flying.add(o.Claimed, 1)
	report := d.reporter(o)
	if o.ValidUntil <= o.OpenedAt {
		report(validityOver)
		return
	}
	text, err := d.cfg.Open(ctx, o)
	if err != nil {
		d.logError(ctx, "a message's text could not be opened", err, "message", o.Message.String())
		report(unopened(err))
		return
	}
	until := d.slots.validUntil()
	if !time.Now().Before(until) {
		report(slotLost)
		return
	}
	if until.Before(deadline) {
		deadline = until
	}
	d.cfg.Provider.Submit(provider.Submission{
		Attempt:      AttemptID(o.Message, o.Attempt, o.Part),
		Reference:    uint16(max(o.Reference, 0)), // 16 bits, or none
		HasReference: o.Reference >= 0,
		Source:       o.Sender,
		Destination:  o.Destination,
		Text:         text,
		DataCoding:   codingOf(o, text),
		Segment:      segmentOf(o),
		NoReceipt:    o.NoReceipt,
		Validity:     o.ValidUntil.Sub(o.OpenedAt),
		Deadline:     deadline,
	}, report)
}

// codingOf is the data coding that was chosen with the message. One of an older release has none: it is a text of one
// part, and gets it now.
func codingOf(o store.Opened, text string) uint8 {
	if o.Text.Parts > 0 {
		return o.Text.DataCoding
	}
	cut, err := gsm.Split(text, gsm.Reference8)
	if err != nil {
		return gsm.CodingDefault // the provider refuses what is no text
	}
	return cut.DataCoding
}

// segmentOf says which part of the message the attempt is of.
func segmentOf(o store.Opened) provider.Segment {
	by := provider.Joining(o.Text.JoinedBy)
	if o.Text.Parts <= 1 && by == "" {
		return provider.Segment{}
	}
	return provider.Segment{
		Number: uint8(o.Part), Total: uint8(o.Text.Parts), // at most 255
		Reference: concatReference(o.Message), By: by,
	}
}

// concatReference is what ties the parts of a message together. It is made of random bits of the message's id, so
// that it is the same in every attempt and on every node; the id's last bits are its tenant's.
func concatReference(m ident.Message) uint16 { return binary.BigEndian.Uint16(m[12:14]) }

// AttemptID is an attempt's own id as text: the message, the attempt and the part.
func AttemptID(m ident.Message, attempt, part uint16) string {
	b := append([]byte(m.String()), '.')
	b = strconv.AppendUint(b, uint64(attempt), 10)
	b = append(b, '.')
	return string(strconv.AppendUint(b, uint64(part), 10))
}

// giveBack returns a message that was claimed and not opened.
func (d *Dispatcher) giveBack(c store.Claimed) {
	d.cfg.Metrics.returned.WithLabelValues(d.cfg.Connection.Name).Inc()
	d.owe(store.News{
		Evidence:   evidence.Evidence{Kind: evidence.Returned, Message: c.Message, Fence: c.Fence},
		IDSpace:    d.cfg.Connection.IDSpace,
		Connection: d.cfg.Connection.ID,
		Reference:  -1,
	})
}

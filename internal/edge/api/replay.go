package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

type replayIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type replayBody struct {
	Connection string `json:"connection,omitempty" doc:"The connection's name; without one, the whole log."`
	Since      string `json:"since,omitempty" format:"date-time" doc:"Only what was received then or later; else from the beginning."`
	After      string `json:"after,omitempty" doc:"Where the call before ended: its next."`
	DryRun     bool   `json:"dry_run,omitempty" doc:"Show what would change; nothing does."`
	By         string `json:"by" doc:"The person who does this."`
	Reason     string `json:"reason" doc:"What was mended; it is kept."`
}

// ReplayView says what became of a piece of the log that was read again.
type ReplayView struct {
	LookedAt int            `json:"looked_at"`
	Changed  int            `json:"changed" doc:"Read otherwise than before."`
	Gone     int            `json:"gone" doc:"Whose payloads cannot be opened any more."`
	Effects  map[string]int `json:"effects" doc:"How many had which effect: nothing, applied, rebuilt, excepted, settled, waits. Accept unknown values."`
	Changes  []RereadView   `json:"changes" nullable:"false" doc:"Those that did something."`
	DryRun   bool           `json:"dry_run,omitempty"`
	Next     *string        `json:"next" doc:"Give it as after to go on; null: this was the last piece."`
}

// RereadView is one receipt that did something when it was read again.
type RereadView struct {
	Receipt string  `json:"receipt"`
	Effect  string  `json:"effect"`
	Message *string `json:"message"`
	From    *string `json:"from" doc:"The message's state before."`
	State   *string `json:"state" doc:"And after."`
	Problem string  `json:"problem,omitempty"`
}

// replayBatch is how many receipts one call reads again.
const replayBatch = 200

// replayReceipts reads a piece of the log again. The log is the installation's: receipts of all tenants
// are in it.
func (a *API) replayReceipts(ctx context.Context, in *replayIn) (ReplayView, error) {
	who := principalOf(ctx)
	if who.Tenant != a.cfg.Installation {
		return ReplayView{}, fault.New(fault.NotFound, "the log of receipts belongs to the installation's own tenant")
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return ReplayView{}, err
	}
	what, err := decodeReplay(in, names)
	if err != nil {
		return ReplayView{}, err
	}
	what.Person = who.does(what.Person)
	done, err := a.cfg.Resolver.Replay(ctx, what)
	return replayView(&done, what.Dry), err
}

func replayView(done *receipt.Replayed, dry bool) ReplayView {
	v := ReplayView{LookedAt: done.LookedAt, Changed: done.Changed, Gone: done.Gone, Effects: map[string]int{}, Changes: []RereadView{}, DryRun: dry}
	for effect, n := range done.Effects {
		v.Effects[string(effect)] = n
	}
	for _, one := range done.Changes {
		r := RereadView{Receipt: one.Receipt.String(), Effect: string(one.Effect), Message: orNull(one.Message.String())}
		if !one.Message.IsZero() {
			r.From, r.State = orNull(one.From.String()), orNull(one.To.String())
		}
		if one.Err != nil {
			r.Problem = problemOf(one.Err).Detail
		}
		v.Changes = append(v.Changes, r)
	}
	if done.Next != (store.LogPlace{}) {
		raw := append(binary.BigEndian.AppendUint64(nil, uint64(done.Next.At)), done.Next.ID[:]...) // the bits of it
		next := base64.RawURLEncoding.EncodeToString(raw)
		v.Next = &next
	}
	return v
}

func decodeReplay(in *replayIn, names map[int64]string) (what receipt.Replay, err error) {
	const rightReplay = "write what was mended; it is kept with every change"
	what.Limit = replayBatch
	var connection, since, after string
	var dry bool
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"connection", d.text(&connection)}, {"since", d.text(&since)}, {"after", d.text(&after)}, {"dry_run", d.flag(&dry)},
			{"by", d.required(&what.Person, rightBy)}, {"reason", d.required(&what.Reason, rightReplay)},
		}
	}, needed{"by", rightBy}, needed{"reason", rightReplay})
	if err != nil {
		return what, err
	}
	d := &decoder{}
	what.Connection, what.Dry = d.connection("#/connection", connection, names), dry
	what.From.At = d.moment("#/since", since)
	if at, err := placeInLog(after); err != nil {
		d.wrong("#/after", "not the next of a call before: copy it whole")
	} else if after != "" {
		what.From = at
	}
	d.shown("by", what.Person)
	d.shown("reason", what.Reason)
	return what, d.fault()
}

var errPlace = errors.New("not a place in the log")

func placeInLog(after string) (store.LogPlace, error) {
	if after == "" {
		return store.LogPlace{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil || len(raw) != 24 {
		return store.LogPlace{}, errPlace
	}
	return store.LogPlace{At: clock.Micros(binary.BigEndian.Uint64(raw)), ID: ident.Receipt(raw[8:])}, nil // the bits of it
}

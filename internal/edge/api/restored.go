package api

import (
	"context"
	"net/http"

	"github.com/einmal/einmal/internal/engine/restore"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Restore is what the API needs of engine/restore.
type Restore interface {
	Survey(ctx context.Context, asOf clock.Micros) (*restore.Survey, error)
	Release(ctx context.Context, a restore.Ask) error
	Requeue(ctx context.Context, tenant ident.Partition, id ident.Message, person, reason string) error
}

// RestoredView says whether traffic waits, and what is in doubt.
type RestoredView struct {
	Held        bool            `json:"held" doc:"The store went back in time: nothing is taken or sent until it is released."`
	HeldSince   *string         `json:"held_since" format:"date-time"`
	Why         string          `json:"why,omitempty" doc:"By what that was noticed."`
	Incarnation IncarnationView `json:"incarnation"`
	Release     *ReleaseView    `json:"release" doc:"What was asked for and is under way; null: nothing."`
	Unfinished  UnfinishedView  `json:"unfinished" doc:"Messages that wait or are being sent, as the store has them."`
	InDoubt     int             `json:"in_doubt" doc:"How many of them may have been sent since the copy was taken, and become unknown with a release; while one is under way, how many are left."`
	InDoubtMore bool            `json:"in_doubt_more" doc:"There may be more: with as_of, no more than 10,000 messages are looked at."`
	Messages    []DoubtedView   `json:"messages" nullable:"false" doc:"The first 100 of those."`
}

// IncarnationView is a life of the store.
type IncarnationView struct {
	ID      string  `json:"id"`
	N       int     `json:"n" doc:"1 is the first. The numbers of the feed begin anew above (n-1)·2^40."`
	BegunAt *string `json:"begun_at" format:"date-time" doc:"null: with the store itself."`
}

// ReleaseView is what somebody asked for.
type ReleaseView struct {
	AsOf        *string `json:"as_of" format:"date-time"`
	KeepPending bool    `json:"keep_pending"`
	By          string  `json:"by"`
	Reason      string  `json:"reason"`
	AskedAt     string  `json:"asked_at" format:"date-time"`
}

// UnfinishedView counts messages.
type UnfinishedView struct {
	Pending int  `json:"pending" doc:"They wait to be sent."`
	Sending int  `json:"sending"`
	More    bool `json:"more" doc:"There are more: no more than 1,000,000 of each are counted."`
}

// DoubtedView is a message in doubt.
type DoubtedView struct {
	ID         string `json:"id"`
	State      string `json:"state" doc:"As the copy has it."`
	Purpose    string `json:"purpose"`
	CreatedAt  string `json:"created_at" format:"date-time"`
	ValidUntil string `json:"valid_until" format:"date-time"`
}

// NewRestoredView shows a survey.
func NewRestoredView(s *restore.Survey) RestoredView {
	v := RestoredView{
		Held: s.Held(), HeldSince: stamp(s.HeldAt), Why: s.Why, InDoubt: s.InDoubt.N, InDoubtMore: s.InDoubt.More,
		Incarnation: IncarnationView{ID: s.ID.String(), N: s.N, BegunAt: stamp(s.BegunAt)},
		Unfinished:  UnfinishedView{s.Waiting.N, s.Sending.N, s.Waiting.More || s.Sending.More},
		Messages:    make([]DoubtedView, 0, len(s.First)),
	}
	if r := s.Release; r != nil {
		v.Release = &ReleaseView{AsOf: stamp(r.AsOf), KeepPending: r.KeepPending, By: r.Person, Reason: r.Reason, AskedAt: at(r.At)}
	}
	for _, u := range s.First {
		v.Messages = append(v.Messages, DoubtedView{u.Message.String(), u.State.String(), u.Purpose, at(u.CreatedAt), at(u.ValidUntil)})
	}
	return v
}

type restoredIn struct {
	AsOf string `query:"as_of" doc:"When the copy was taken (RFC 3339): what cannot have been sent since then is not in doubt."`
}

// errNotYours answers keys of other tenants: the store is everybody's, and its messages are not theirs to see.
var errNotYours = fault.New(fault.NotFound, "the key belongs to another tenant than the installation's own, and those who run the gateway have one of its keys")

func (a *API) getRestored(ctx context.Context, in *restoredIn) (RestoredView, error) {
	d := &decoder{}
	asOf := d.moment("as_of", in.AsOf)
	if err := d.fault(); err != nil {
		return RestoredView{}, err
	}
	return a.surveyed(ctx, asOf)
}

func (a *API) surveyed(ctx context.Context, asOf clock.Micros) (RestoredView, error) {
	if principalOf(ctx).Tenant != a.cfg.Installation {
		return RestoredView{}, errNotYours
	}
	s, err := a.cfg.Restore.Survey(ctx, asOf)
	if err != nil {
		return RestoredView{}, err
	}
	return NewRestoredView(s), nil
}

type releaseIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

// ReleaseBody is what an operator says about a store that was restored.
type ReleaseBody struct {
	Reason      string `json:"reason" doc:"What happened; it is kept with the store's incarnation."`
	By          string `json:"by,omitempty" doc:"Who says so; else the key's name."`
	AsOf        string `json:"as_of,omitempty" format:"date-time" doc:"When the copy was taken. A time before that lets messages be sent a second time."`
	KeepPending bool   `json:"keep_pending,omitempty" doc:"Nothing was sent since the copy was taken: what waits may be sent."`
	Declare     bool   `json:"declare,omitempty" doc:"The store was put back although nobody has noticed: hold it and release it."`
}

const rightRelease = "write what happened; it is kept with the store's incarnation"

// release lets traffic go on, or rather begins to: the answer shows what is left.
func (a *API) release(ctx context.Context, in *releaseIn) (RestoredView, error) {
	who := principalOf(ctx)
	if who.Tenant != a.cfg.Installation {
		return RestoredView{}, errNotYours
	}
	ask := restore.Ask{Person: who.Person}
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"reason", d.required(&ask.Reason, rightRelease)}, {"by", d.required(&ask.Person, "write who says so, or leave it out")},
			{"as_of", d.time(&ask.AsOf)}, {"keep_pending", d.flag(&ask.KeepPending)}, {"declare", d.flag(&ask.Declared)},
		}
	}, needed{"reason", rightRelease})
	if err != nil {
		return RestoredView{}, err
	}
	if err := a.cfg.Restore.Release(ctx, ask); err != nil {
		return RestoredView{}, err
	}
	return a.surveyed(ctx, ask.AsOf)
}

const rightRequeue = "write how you know that it was not sent; it is kept with the event, together with the key's name"

// requeue takes a person's word that a message which a restore left unknown was not sent.
func (a *API) requeue(ctx context.Context, in *cancelIn) (OneMessageView, error) {
	id, err := parseID[ident.Message](in.ID)
	if err != nil {
		return OneMessageView{}, err
	}
	var reason string
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"reason", d.required(&reason, rightRequeue)}}
	}, needed{"reason", rightRequeue})
	if err != nil {
		return OneMessageView{}, err
	}
	if err := a.mayMoveMoney(ctx, id); err != nil {
		return OneMessageView{}, err
	}
	if err := a.cfg.Restore.Requeue(ctx, subjectOf(ctx), id, personOf(ctx), reason); err != nil {
		return OneMessageView{}, err
	}
	m, err := a.message(ctx, id)
	if err != nil {
		return OneMessageView{}, err
	}
	return a.oneMessage(ctx, m)
}

// registerRestored adds what follows a restore of the store.
func (a *API) registerRestored() {
	add(a, op("GET", "/v1/restored", "get-restored", "Operation", "Whether traffic waits because the store went back in time, and what is in doubt"), ScopeAdmin, a.getRestored)
	release := withBody(op("POST", "/v1/restored", "release-restored", "Operation", "Let traffic go on after a restore of the store"), a.schema(ReleaseBody{}))
	release.DefaultStatus = http.StatusAccepted
	add(a, release, ScopeAdmin, a.release)
}

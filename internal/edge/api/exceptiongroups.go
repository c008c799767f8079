package api

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/engine/receipt"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// ExceptionGroupView is the exceptions of one connection, kind and hour.
type ExceptionGroupView struct {
	Hour       string `json:"hour" format:"date-time" doc:"When the hour begins."`
	Connection string `json:"connection"`
	Kind       string `json:"kind"`
	Count      int64  `json:"count" doc:"All of them. A flood is counted beyond a thousand an hour and not kept one by one; each receipt is in the log all the same."`
	Open       int64  `json:"open" doc:"Those that were kept one by one and wait."`
}

type groupsIn struct {
	Open  bool   `query:"open" doc:"true: only groups of which some are open."`
	After string `query:"after" maxLength:"200" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many entries at most."`
}

func (a *API) listExceptionGroups(ctx context.Context, in *groupsIn) (List[ExceptionGroupView], error) {
	none := List[ExceptionGroupView]{}
	d := &decoder{}
	after := d.groupPlace(in.After)
	if err := d.fault(); err != nil {
		return none, err
	}
	found, err := a.cfg.Store.ExceptionGroups(ctx, principalOf(ctx).Tenant, in.Open, after, in.Limit+1)
	if err != nil {
		return none, err
	}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return none, err
	}
	l := List[ExceptionGroupView]{Data: make([]ExceptionGroupView, 0, len(found))}
	for i, g := range found {
		if i == in.Limit {
			next := groupToken(found[i-1].GroupKey)
			l.Next = &next
			break
		}
		l.Data = append(l.Data, ExceptionGroupView{Hour: at(g.Hour), Connection: names[g.Connection], Kind: string(g.Kind), Count: g.Count, Open: g.Open})
	}
	return l, nil
}

// groupPlaceForm is where a page of groups ended, as clients hand it back.
type groupPlaceForm struct {
	Hour       int64
	Connection int64
	Kind       string
}

func groupToken(k store.GroupKey) string {
	raw, _ := json.Marshal(groupPlaceForm{int64(k.Hour), k.Connection, string(k.Kind)}) // numbers and a word: it cannot fail
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (d *decoder) groupPlace(after string) (k store.GroupKey) {
	if after == "" {
		return k
	}
	var f groupPlaceForm
	raw, err := base64.RawURLEncoding.DecodeString(after)
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		d.wrong("after", "not the next of a page: copy it whole")
	}
	return store.GroupKey{Hour: clock.Micros(f.Hour), Connection: f.Connection, Kind: exception.Kind(f.Kind)}
}

type resolveGroupIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type resolveGroupBody struct {
	Connection string `json:"connection" doc:"The group's, by its name."`
	Kind       string `json:"kind"`
	Hour       string `json:"hour" format:"date-time" doc:"When the group's hour begins, as the list shows it."`
	Action     string `json:"action" doc:"dismiss or reread."`
	By         string `json:"by" doc:"The person who does this."`
	Reason     string `json:"reason" doc:"Why; it is kept."`
}

// GroupResolvedView says how far the resolving of a group has come.
type GroupResolvedView struct {
	Resolved int      `json:"resolved" doc:"How many this call has resolved: a hundred at most. Call again while some are open."`
	Left     int64    `json:"left" doc:"How many of the group are open now."`
	Failed   []string `json:"failed" nullable:"false" doc:"Why some could not be resolved."`
}

func (a *API) resolveExceptionGroup(ctx context.Context, in *resolveGroupIn) (GroupResolvedView, error) {
	none := GroupResolvedView{}
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return none, err
	}
	g, body, err := decodeGroup(in, names)
	if err != nil {
		return none, err
	}
	who := principalOf(ctx)
	g.Tenant = who.Tenant
	done, failed, err := a.cfg.Resolver.ResolveGroup(ctx, g, exception.Action(body.Action), who.does(body.By), body.Reason)
	if err != nil {
		return none, err
	}
	v := GroupResolvedView{Resolved: done, Failed: []string{}}
	for _, err := range failed {
		v.Failed = append(v.Failed, problemOf(err).Detail)
	}
	v.Left, err = a.leftOf(ctx, g)
	return v, err
}

// groupsOfHour is more than an hour has: one for each connection and kind.
const groupsOfHour = 10_000

// leftOf counts what is open of a group.
func (a *API) leftOf(ctx context.Context, g receipt.Group) (int64, error) {
	found, err := a.cfg.Store.ExceptionGroups(ctx, g.Tenant, true, store.GroupKey{Hour: g.Hour + 1}, groupsOfHour)
	for _, one := range found {
		if one.GroupKey == g.GroupKey {
			return one.Open, err
		}
	}
	return 0, err
}

func decodeGroup(in *resolveGroupIn, names map[int64]string) (g receipt.Group, body resolveGroupBody, err error) {
	const rightGroup = "name the group as the list of groups shows it"
	err = decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{
			{"connection", d.required(&body.Connection, rightGroup)}, {"kind", d.required(&body.Kind, rightGroup)}, {"hour", d.required(&body.Hour, rightGroup)},
			{"action", d.required(&body.Action, rightAction)}, {"by", d.required(&body.By, rightBy)}, {"reason", d.required(&body.Reason, rightResolveReason)},
		}
	}, needed{"connection", rightGroup}, needed{"kind", rightGroup}, needed{"hour", rightGroup}, needed{"action", "write dismiss or reread"},
		needed{"by", rightBy}, needed{"reason", rightResolveReason})
	if err != nil {
		return g, body, err
	}
	d := &decoder{}
	g.GroupKey = store.GroupKey{Connection: d.connection("#/connection", body.Connection, names), Kind: d.kind("#/kind", body.Kind), Hour: d.moment("#/hour", body.Hour)}
	if d.action(body.Action) == exception.Attach {
		d.wrong("#/action", "what belongs to an attempt is attached one by one: write dismiss or reread")
	}
	d.shown("by", body.By)
	d.shown("reason", body.Reason)
	return g, body, d.fault()
}

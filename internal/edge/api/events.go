package api

import (
	"context"
	"strconv"

	"github.com/einmal/einmal/internal/store"
)

// FeedView is one event of the tenant's feed.
type FeedView struct {
	Seq       int64             `json:"seq" doc:"Its place in the tenant's feed, numbered without a gap as long as the store was not put back; then it goes on above the next multiple of 2^40."`
	Message   string            `json:"message"`
	N         int               `json:"n" doc:"Its number among the message's events, from 1 without a gap."`
	At        string            `json:"at" format:"date-time"`
	Kind      string            `json:"kind" doc:"Accept unknown values."`
	From      *string           `json:"from" doc:"The message's state before."`
	State     string            `json:"state" doc:"The message's state after."`
	Attempt   int               `json:"attempt,omitempty"`
	Part      int               `json:"part,omitempty"`
	Receipt   *string           `json:"receipt"`
	Detail    map[string]string `json:"detail,omitempty"`
	Channel   string            `json:"channel"`
	Simulated bool              `json:"simulated"`
}

type eventsIn struct {
	After int64 `query:"after" minimum:"0" doc:"The sequence after which to begin: the page before's next."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many entries at most."`
}

// Feed is a page of the feed, the oldest first.
type Feed struct {
	Data []FeedView `json:"data" nullable:"false"`
	Next string     `json:"next" doc:"Give it as after, now or later: the feed goes on."`
}

func (a *API) listEvents(ctx context.Context, in *eventsIn) (Feed, error) {
	found, err := a.cfg.Store.After(ctx, principalOf(ctx).Tenant, in.After, in.Limit)
	if err != nil {
		return Feed{}, err
	}
	feed, last := Feed{Data: make([]FeedView, 0, len(found))}, in.After
	for i := range found {
		feed.Data = append(feed.Data, a.feedView(&found[i]))
		last = found[i].Seq
	}
	feed.Next = strconv.FormatInt(last, 10)
	return feed, nil
}

func (a *API) feedView(e *store.FeedEvent) FeedView {
	return FeedView{
		Seq: e.Seq, Message: e.Message.String(), N: int(e.N), At: at(e.At), Kind: string(e.Kind),
		From: orNull(e.From.String()), State: e.To.String(), Attempt: int(e.Attempt), Part: int(e.Part),
		Receipt: orNull(e.Receipt.String()), Detail: e.Detail, Channel: "sms", Simulated: a.cfg.Simulated(e.Connection),
	}
}

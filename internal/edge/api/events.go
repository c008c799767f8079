package api

import (
	"context"
	"strconv"

	"github.com/einmal/einmal/internal/engine/relay/payload"
)

type eventsIn struct {
	After int64 `query:"after" minimum:"0" doc:"The sequence after which to begin: the page before's next."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many entries at most."`
}

// Feed is a page of the feed, the oldest first.
type Feed struct {
	Data []payload.Notice `json:"data" nullable:"false"`
	Next string           `json:"next" doc:"Give it as after, now or later: the feed goes on."`
}

func (a *API) listEvents(ctx context.Context, in *eventsIn) (Feed, error) {
	found, err := a.cfg.Store.After(ctx, principalOf(ctx).Tenant, in.After, in.Limit)
	if err != nil {
		return Feed{}, err
	}
	feed, last := Feed{Data: make([]payload.Notice, 0, len(found))}, in.After
	for i := range found {
		v, err := a.cfg.Feed.Notice(ctx, &found[i])
		if err != nil {
			return Feed{}, err
		}
		feed.Data, last = append(feed.Data, v), v.Sequence
	}
	feed.Next = strconv.FormatInt(last, 10)
	return feed, nil
}

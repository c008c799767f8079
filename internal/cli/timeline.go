package cli

import (
	"context"
	"net/url"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

type timelineCmd struct {
	ID string `arg:"" help:"A message, msg_…"`
	clientFlags
}

func (c *timelineCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	lines, err := wholeTimeline(ctx, gateway, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, api.Timeline{Data: lines})
	}
	s := env.style()
	rows := [][]string{{"TIME (UTC)", "WHAT", "DETAIL"}}
	for _, l := range lines {
		summary := clean(l.Summary)
		switch l.Kind {
		case "exception", "conflict":
			summary = s.warn(summary)
		}
		rows = append(rows, []string{clock(l.At), clean(l.Kind), summary})
	}
	table(env.Stdout, rows)
	return nil
}

// wholeTimeline reads all pages.
func wholeTimeline(ctx context.Context, gateway *client, id string) ([]api.TimelineView, error) {
	lines, after := []api.TimelineView{}, ""
	for {
		var page api.Timeline
		path := "/v1/messages/" + url.PathEscape(id) + "/timeline?after=" + url.QueryEscape(after)
		if _, err := gateway.get(ctx, path, &page); err != nil {
			return nil, err
		}
		lines = append(lines, page.Data...)
		if page.Next == nil {
			return lines, nil
		}
		after = *page.Next
	}
}

// clock shows a point in time to the millisecond, as it came if it cannot be read.
func clock(stamp string) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return clean(stamp)
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

package cli

import (
	"context"
	"fmt"
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
	story, err := wholeTimeline(ctx, gateway, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, story)
	}
	showTimeline(env, c.ID, story)
	return nil
}

// showTimeline tells what happened in the order in which it did, each with its time since the first, and then how
// things stand.
func showTimeline(env *Env, id string, story *api.Timeline) {
	if len(story.Data) == 0 {
		return
	}
	s := env.style()
	env.paragraph(fmt.Sprintf("Message %s, from %s UTC on:", clean(id), clock(story.Data[0].At)))
	for _, l := range story.Data {
		summary := clean(l.Summary)
		switch l.Kind {
		case "exception", "conflict":
			summary = s.warn(summary)
		}
		env.hanging(fmt.Sprintf("%14s  ", "+"+span(l.AfterMs)), summary)
	}
	env.hanging(fmt.Sprintf("%14s  ", "now"), s.bold(clean(story.Outlook)))
	showParts(env, story.ByPart)
}

// showParts lists the parts of a long message.
func showParts(env *Env, parts []api.PartView) {
	if len(parts) < 2 {
		return
	}
	or := func(s *string, otherwise string) string {
		if s == nil {
			return otherwise
		}
		return clean(*s)
	}
	rows := [][]string{{"PART", "ATTEMPTS", "OUTCOME", "DELIVERY", "MESSAGE ID"}}
	for _, p := range parts {
		rows = append(rows, []string{
			fmt.Sprint(p.Part), fmt.Sprint(p.Attempts), or(p.Outcome, "waits"), or(p.Delivery, "-"), or(p.ExternalID, "-"),
		})
	}
	_, _ = fmt.Fprintln(env.Stdout)
	table(env.Stdout, rows)
}

// span writes milliseconds in the two units that matter.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// wholeTimeline reads all pages.
func wholeTimeline(ctx context.Context, gateway *client, id string) (*api.Timeline, error) {
	story, after := &api.Timeline{Data: []api.TimelineView{}}, ""
	for {
		var page api.Timeline
		path := "/v1/messages/" + url.PathEscape(id) + "/timeline?after=" + url.QueryEscape(after)
		if _, err := gateway.get(ctx, path, &page); err != nil {
			return nil, err
		}
		story.Data, story.Outlook, story.Parts = append(story.Data, page.Data...), page.Outlook, page.Parts
		if page.Next == nil {
			return story, nil
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

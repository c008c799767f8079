package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/edge/api"
)

type receiptsCmd struct {
	Replay receiptsReplayCmd `cmd:"" help:"Read receipts again, after a parser or a setting was mended, and let them have the effect that they have now."`
}

type receiptsReplayCmd struct {
	Connection string `help:"Whose receipts; else everybody's." placeholder:"NAME"`
	Since      string `help:"Only what was received then or later; else all." placeholder:"TIME"`
	DryRun     bool   `help:"Show what would change; nothing does."`
	personFlags
	clientFlags
}

func (c *receiptsReplayCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	all, err := c.replay(ctx, env, gateway)
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, all)
	}
	c.tell(env, all)
	return nil
}

// replay goes through the log piece by piece. What was done before an error stays done, and is nothing new when the
// command is run again.
func (c *receiptsReplayCmd) replay(ctx context.Context, env *Env, gateway *client) (*api.ReplayView, error) {
	line := &progressLine{env: env}
	defer line.clear()
	all := &api.ReplayView{Effects: map[string]int{}, Changes: []api.RereadView{}, DryRun: c.DryRun}
	request := map[string]any{"by": c.By, "reason": c.Reason}
	if c.Connection != "" {
		request["connection"] = c.Connection
	}
	if c.Since != "" {
		request["since"] = c.Since
	}
	if c.DryRun {
		request["dry_run"] = true
	}
	for {
		body, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		a, err := gateway.do(ctx, http.MethodPost, "/v1/receipts/replay", body, nil)
		if err != nil {
			return nil, unlost(err, "run the same command again: what was read again already changes nothing")
		}
		var one api.ReplayView
		if err := json.Unmarshal(a.body, &one); err != nil {
			return nil, err
		}
		all.LookedAt, all.Changed, all.Gone = all.LookedAt+one.LookedAt, all.Changed+one.Changed, all.Gone+one.Gone
		for effect, n := range one.Effects {
			all.Effects[effect] += n
		}
		all.Changes = append(all.Changes, one.Changes...)
		if one.Next == nil {
			return all, nil
		}
		request["after"] = *one.Next
		line.show(fmt.Sprintf("%d receipts were read again, of which %d did something", all.LookedAt, len(all.Changes)), 0, 0)
	}
}

func (c *receiptsReplayCmd) tell(env *Env, all *api.ReplayView) {
	s := env.style()
	would := ""
	if c.DryRun {
		would = " (a dry run: nothing has changed)"
	}
	_, _ = fmt.Fprintf(env.Stdout, "%d receipts were read again, %d of them otherwise than before%s\n", all.LookedAt, all.Changed, would)
	if all.Gone > 0 {
		_, _ = fmt.Fprintln(env.Stdout, s.warn(fmt.Sprintf("%d cannot be read any more: their keys are destroyed", all.Gone)))
	}
	var words []string
	for _, effect := range slices.Sorted(maps.Keys(all.Effects)) {
		words = append(words, fmt.Sprintf("%s %d", clean(effect), all.Effects[effect]))
	}
	if len(words) > 0 {
		_, _ = fmt.Fprintln(env.Stdout, "effects: "+strings.Join(words, ", "))
	}
	const most = 50 // of a list for people; --json has all
	rows := [][]string{{"RECEIPT", "EFFECT", "MESSAGE", "STATE"}}
	for _, r := range all.Changes[:min(most, len(all.Changes))] {
		rows = append(rows, rereadRow(&r))
	}
	if len(rows) > 1 {
		table(env.Stdout, rows)
	}
	if len(all.Changes) > most {
		_, _ = fmt.Fprintln(env.Stdout, s.faint(fmt.Sprintf("and %d more: --json has all", len(all.Changes)-most)))
	}
}

func rereadRow(r *api.RereadView) []string {
	message, state := "-", clean(r.Problem)
	if r.Message != nil {
		message = clean(*r.Message)
	}
	if r.From != nil && r.State != nil {
		state = clean(*r.From) + " → " + clean(*r.State)
	}
	return []string{clean(r.Receipt), clean(r.Effect), message, state}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/edge/api"
)

type restoredCmd struct {
	AsOf        string `name:"as-of" help:"When the copy was taken, such as 2026-12-31T10:00:00Z: what was taken later, or was not valid any more by then, is not in doubt." placeholder:"TIME"`
	KeepPending bool   `help:"Nothing was sent since the copy was taken: what waits may be sent."`
	Declare     bool   `help:"The store was put back although nobody has noticed: hold it and release it."`
	Reason      string `help:"What happened. With it traffic is released; without it only the state is shown."`
	By          string `help:"Who says so; else the name of the API key."`
	DryRun      bool   `help:"Show what a release would do, and do nothing."`
	Offline     bool   `help:"Work on the store itself while no gateway runs: give --data, --store or --config as for einmal serve."`

	Data   string `help:"With --offline: data folder (default ./einmal-data)." placeholder:"FOLDER"`
	Mark   string `help:"With --offline: file that is kept beside the store." placeholder:"FILE"`
	Store  string `help:"With --offline: store, such as postgres://user@host/db; else SQLite in the data folder." placeholder:"URL"`
	Config string `help:"With --offline: configuration file." placeholder:"FILE"`
	clientFlags
}

func (c *restoredCmd) Run(ctx context.Context, env *Env) (err error) {
	asOf, err := c.asOf()
	if err != nil {
		return err
	}
	store, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	v, err := store.Survey(ctx, asOf)
	if err != nil {
		return err
	}
	if c.Reason == "" || c.DryRun {
		return c.show(env, &v)
	}
	return c.release(ctx, env, store, &v)
}

func (c *restoredCmd) asOf() (time.Time, error) {
	if c.AsOf == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, c.AsOf)
	if err != nil {
		return t, &failure{code: exitUsage, text: "--as-of is not a time: write it like 2026-12-31T10:00:00Z"}
	}
	if c.KeepPending {
		return t, &failure{code: exitUsage, text: "--as-of narrows what is in doubt, and with --keep-pending nothing that waits is: leave one of them out"}
	}
	return t, nil
}

// open reaches the store through a running gateway, or itself.
func (c *restoredCmd) open(ctx context.Context, env *Env) (Restored, error) {
	switch {
	case c.Offline && c.By == "" && c.Reason != "":
		return nil, &failure{code: exitUsage, text: "--offline knows no API key: say who you are with --by NAME"}
	case c.Offline:
		o := env.options(c.Config)
		o.Flags = app.Flags{Data: c.Data, Mark: c.Mark, Store: c.Store}
		return env.App.Restored(ctx, o, env.Stderr)
	case c.Data+c.Mark+c.Store+c.Config != "":
		return nil, &failure{code: exitUsage, text: "--data, --mark, --store and --config belong to --offline; a running gateway is asked at --url"}
	}
	gateway, err := c.client(env)
	return &remoteStore{gateway}, err
}

// release asks for what is to be said, and shows what came of it.
func (c *restoredCmd) release(ctx context.Context, env *Env, store Restored, before *api.RestoredView) error {
	err := store.Release(ctx, api.ReleaseBody{
		Reason: c.Reason, By: c.By, AsOf: c.AsOf, KeepPending: c.KeepPending, Declare: c.Declare,
	})
	if err != nil {
		return err
	}
	if err := c.await(ctx, env, store, before); err != nil {
		return err
	}
	after, err := store.Survey(ctx, time.Time{})
	if err != nil {
		return err
	}
	if c.JSON {
		return compact(env, after)
	}
	s := env.style()
	env.paragraph(s.good("Traffic goes on.") + " " + releasedWords(before, c.KeepPending))
	if before.InDoubt > 0 && !c.KeepPending {
		_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal requeue msg_… --reason TEXT   (for one that certainly was not sent)"))
	}
	return nil
}

// await waits until traffic goes on, and shows how far it is.
func (c *restoredCmd) await(ctx context.Context, env *Env, store Restored, before *api.RestoredView) error {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	line := &progressLine{env: env}
	err := store.Await(ctx, func(now *api.RestoredView) {
		done := max(0, unfinished(before)-unfinished(now))
		line.show(fmt.Sprintf("%d of %s made unknown", done, messages(before.InDoubt, before.InDoubtMore)), 0, 0)
	})
	line.clear()
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case c.Offline:
		return &failure{code: exitFailed, text: "interrupted: traffic still waits, and what was done stays done", next: "the same command, or einmal serve: both go on with it"}
	}
	return &failure{code: exitFailed, text: "not waited for: the gateway goes on with the release", next: "einmal restored"}
}

func unfinished(v *api.RestoredView) int { return v.Unfinished.Pending + v.Unfinished.Sending }

func releasedWords(before *api.RestoredView, kept bool) string {
	switch {
	case kept:
		return fmt.Sprintf("%s that wait are sent.", messages(before.Unfinished.Pending, before.Unfinished.More))
	case before.InDoubt == 0:
		return "Nothing was in doubt."
	}
	return fmt.Sprintf("%s that may have been sent since the copy was taken are unknown: nothing sends them again before a receipt, a late answer or a person settles them.",
		messages(before.InDoubt, before.InDoubtMore))
}

// messages says how many there are, or how many at least.
func messages(n int, more bool) string {
	if n == 1 && !more {
		return "1 message"
	}
	return atLeast(n, more) + " messages"
}

func atLeast(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// show says whether traffic waits, why, and what is in doubt.
func (c *restoredCmd) show(env *Env, v *api.RestoredView) error {
	if c.JSON {
		return compact(env, v)
	}
	s := env.style()
	switch {
	case v.Release != nil:
		env.paragraph(s.warn("Traffic is being released") + ", as " + clean(v.Release.By) + " asked for at " + clock(v.Release.AskedAt) + " UTC.")
	case v.Held:
		env.paragraph(s.warn("Traffic waits") + " since " + clock(*v.HeldSince) + " UTC, because the store went back in time: " + clean(v.Why) + ".")
	default:
		env.paragraph("Traffic does not wait. The store is in its incarnation " + fmt.Sprint(v.Incarnation.N) + ", and nobody has noticed that it went back in time.")
	}
	rows := [][]string{{"NOT FINISHED", "MESSAGES"}}
	for _, r := range []struct {
		name string
		n    int
		more bool
	}{{"pending", v.Unfinished.Pending, v.Unfinished.More}, {"sending", v.Unfinished.Sending, false}, {"of them in doubt", v.InDoubt, v.InDoubtMore}} {
		rows = append(rows, []string{r.name, atLeast(r.n, r.more)})
	}
	_, _ = fmt.Fprintln(env.Stdout)
	table(env.Stdout, rows)
	showDoubted(env, v)
	_, _ = fmt.Fprintln(env.Stdout, s.faint("\nnext: "+c.next(v)))
	return nil
}

// mostDoubted is how many messages are listed for people.
const mostDoubted = 20

func showDoubted(env *Env, v *api.RestoredView) {
	if len(v.Messages) == 0 {
		return
	}
	rows := [][]string{{"CREATED (UTC)", "ID", "PURPOSE", "STATE IN THE COPY"}}
	for _, m := range v.Messages[:min(len(v.Messages), mostDoubted)] {
		rows = append(rows, []string{clock(m.CreatedAt), clean(m.ID), clean(m.Purpose), clean(m.State)})
	}
	_, _ = fmt.Fprintln(env.Stdout)
	table(env.Stdout, rows)
	if v.InDoubt > mostDoubted {
		lead := "and "
		if v.InDoubtMore {
			lead = "and at least "
		}
		_, _ = fmt.Fprintf(env.Stdout, "%s%d more\n", lead, v.InDoubt-mostDoubted)
	}
}

func (c *restoredCmd) next(v *api.RestoredView) string {
	switch {
	case v.Release != nil && c.Offline:
		return "einmal serve   (goes on with it)"
	case v.Release != nil:
		return "einmal restored   (shows how far it is)"
	}
	var given []string
	for _, f := range []struct {
		flag string
		set  bool
	}{{"--offline", c.Offline}, {"--as-of " + c.AsOf, c.AsOf != ""}, {"--keep-pending", c.KeepPending}, {"--declare", !v.Held}} {
		if f.set {
			given = append(given, " "+f.flag)
		}
	}
	command := "einmal restored" + strings.Join(given, "") + " --reason TEXT"
	if v.Held {
		return command + "   (what is in doubt becomes unknown, and traffic goes on)"
	}
	return command + "   (only if this store is an older copy that was put back)"
}

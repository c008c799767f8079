package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/demo"
)

type demoCmd struct {
	URL     string `help:"A running gateway that has the built-in simulator; else the demonstration starts one of its own in a temporary folder." placeholder:"URL"`
	KeyFile string `help:"File with that gateway's API key; EINMAL_KEY in the environment comes first." default:"./einmal-data/admin.key" type:"path"`
	Store   string `help:"The store of the own gateway, empty: such as postgres://user@host/db; else SQLite." placeholder:"URL"`
	JSON    bool   `name:"json" help:"Print the report as JSON."`
}

func (c *demoCmd) Run(ctx context.Context, env *Env) error {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	if c.URL == "" {
		return c.alone(ctx, env)
	}
	if c.Store != "" {
		return &failure{code: exitUsage, text: "--store is the own gateway's, and --url names one that runs: give one of them"}
	}
	flags := clientFlags{URL: c.URL, KeyFile: c.KeyFile}
	gateway, err := flags.client(env)
	if err != nil {
		return err
	}
	report, err := c.play(ctx, env, demo.Gateway{URL: gateway.base, Key: gateway.key})
	if err != nil {
		return err
	}
	return verdict(report, "")
}

// demoConfig is the own gateway's: as without any, but that an answer is not awaited for long.
const demoConfig = "connections: {simulator: {kind: simulator, response_timeout: 2s}}\n"

// alone plays on a gateway of its own. Its folder stays where something went wrong.
func (c *demoCmd) alone(ctx context.Context, env *Env) error {
	folder, err := os.MkdirTemp("", "einmal-demo-")
	if err != nil {
		return err
	}
	report, err := c.inFolder(ctx, env, folder)
	if err == nil && report.Held {
		return os.RemoveAll(folder)
	}
	if ctx.Err() != nil { // nobody wants to look
		return errors.Join(err, os.RemoveAll(folder))
	}
	return errors.Join(err, verdict(report, folder))
}

func (c *demoCmd) inFolder(ctx context.Context, env *Env, folder string) (report *demo.Report, err error) {
	config, ledger := filepath.Join(folder, "einmal.yaml"), filepath.Join(folder, "ledger")
	if err := os.WriteFile(config, []byte(demoConfig), 0o600); err != nil {
		return nil, err
	}
	gateway, err := env.App.Open(Options{
		Flags:  app.Flags{Listen: "127.0.0.1:0", Data: filepath.Join(folder, "data"), Store: c.Store, Ledger: ledger, LogLevel: "error"},
		Config: config,
	}, env.Stderr)
	if err != nil {
		return nil, err
	}
	if err := gateway.Start(ctx); err != nil {
		return nil, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err = errors.Join(err, gateway.Stop(stopping))
	}()
	running := gateway.Running()
	key, err := readKeyFile(running.AdminKeyFile)
	if err != nil {
		return nil, err
	}
	return c.play(ctx, env, demo.Gateway{URL: "http://" + running.Listen, Key: strings.TrimSpace(key), Ledger: ledger})
}

func (c *demoCmd) play(ctx context.Context, env *Env, g demo.Gateway) (*demo.Report, error) {
	s := env.style()
	report, err := demo.Run(ctx, g, func(t demo.Told) {
		switch {
		case c.JSON:
		case t.Story != "":
			env.hanging(fmt.Sprintf("%2d. ", t.Scene), s.bold(t.Story))
		default:
			env.hanging("    ", clean(t.Came))
		}
	})
	if err != nil {
		return nil, &failure{code: exitFailed, text: "the demonstration ended early: " + clean(err.Error())}
	}
	if c.JSON {
		return report, compact(env, report)
	}
	showDemo(env, report)
	return report, nil
}

// showDemo ends the demonstration with a table: what came in, what went out, why.
func showDemo(env *Env, r *demo.Report) {
	s := env.style()
	rows := [][]string{{"WHAT WENT WRONG", "REQUESTS", "MESSAGES", "ON PHONES", "NOT SENT AGAIN", "HOW THEY ENDED"}}
	line := func(name string, row *demo.Row) []string {
		return []string{name, strconv.Itoa(row.Requests), strconv.Itoa(row.Messages), strconv.Itoa(row.OnPhones), notAgain(row), clean(demo.Counted(row.Ended))}
	}
	for i := range r.Scenes {
		rows = append(rows, line(r.Scenes[i].Scene, &r.Scenes[i]))
	}
	rows = append(rows, line("in all", &r.Total))
	env.paragraph("")
	table(env.Stdout, rows)
	env.paragraph("")
	t := &r.Total
	env.paragraph(fmt.Sprintf("%d requests came in for %d intents, and %d texts are on phones, counted in %s. %d requests were not sent a second time: "+
		"they asked for what had been asked for. Lost answers that evidence settled: %d; that nobody knows: %d. Waiting for a person: %d. It took %.1f s.",
		t.Requests, t.Intents, t.OnPhones, r.Counted, t.NotSentTwice, t.Evidence, t.Ended["unknown"], t.Exceptions, float64(r.TookMs)/1000))
	env.paragraph("")
	for _, p := range r.Promises {
		mark := s.good("kept  ")
		if !p.Held {
			mark = s.bad("broken")
		}
		env.hanging("", mark+"  "+p.Promise+s.faint(" ("+p.Found+")"))
	}
}

// whyNot are the reasons for which a request made no message, in a table's words.
var whyNot = map[string]string{"technical_duplicate": "duplicate", "replayed": "replay"}

// notAgain says how many requests made no message, and why.
func notAgain(row *demo.Row) string {
	var words []string
	for _, why := range slices.Sorted(maps.Keys(row.Because)) {
		n, word := row.Because[why], cmp.Or(whyNot[why], clean(why))
		if n > 1 {
			word += "s"
		}
		words = append(words, fmt.Sprintf("%d %s", n, word))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// verdict is the exit code: whether the promises held.
func verdict(r *demo.Report, folder string) error {
	if r == nil || r.Held {
		return nil
	}
	f := &failure{code: exitFailed, text: "a promise was broken, as the lines above say"}
	if folder != "" {
		f.next = "look at the store and at what the carrier took: " + folder
	}
	return f
}

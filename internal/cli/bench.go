package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/bench"
)

type benchCmd struct {
	Decide      benchDecideCmd   `cmd:"" help:"Decisions, in process and over HTTP."`
	Pipeline    benchPipelineCmd `cmd:"" help:"The whole way of a message, against Kannel."`
	Receipts    benchReceiptsCmd `cmd:"" help:"Delivery receipts, against a bare insert."`
	Latency     benchLatencyCmd  `cmd:"" help:"How long a code takes to the wire, idle and with a campaign waiting."`
	Start       benchStartCmd    `cmd:"" help:"How long a gateway takes until it is ready."`
	Growth      benchGrowthCmd   `cmd:"" help:"What a decision costs with millions of keys stored."`
	BareHandler bareHandlerCmd   `cmd:"" hidden:"" help:"What decisions over HTTP are compared with."`
}

// benchFlags are what every bench takes.
type benchFlags struct {
	Store  string `help:"sqlite, or the URL of a PostgreSQL server on which databases may be made." default:"sqlite" placeholder:"URL"`
	Folder string `help:"Where the run keeps its files; its disk is measured, too." type:"path" placeholder:"FOLDER"`
	Rounds int    `help:"Rounds; in each one every side has its turn." default:"3" placeholder:"N"`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// measure runs a bench and prints its report.
func (f benchFlags) measure(ctx context.Context, env *Env, count int, run func(context.Context, bench.Options) (*bench.Report, error)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(app.GCPercent) // what runs in this process runs as in a gateway
	}
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	line := &progressLine{env: env}
	report, err := run(ctx, bench.Options{
		Store: f.Store, Folder: f.Folder, Count: count, Rounds: f.Rounds, Program: []string{self}, Progress: line.show,
	})
	line.clear()
	if err != nil {
		return err
	}
	if f.JSON {
		return compact(env, report)
	}
	return showReport(env, report)
}

type benchDecideCmd struct {
	benchFlags
	Count int    `help:"Requests of each side in a round." default:"20000" placeholder:"N"`
	Over  string `help:"process: decisions in this process; http: over HTTP; both." enum:"both,process,http" default:"both"`
}

func (c *benchDecideCmd) Run(ctx context.Context, env *Env) error {
	return c.measure(ctx, env, c.Count, func(ctx context.Context, o bench.Options) (*bench.Report, error) {
		return bench.Decide(ctx, o, c.Over != "http", c.Over != "process")
	})
}

type benchPipelineCmd struct {
	benchFlags
	Count int `help:"Messages of each side in a round." default:"10000" placeholder:"N"`
}

func (c *benchPipelineCmd) Run(ctx context.Context, env *Env) error {
	return c.measure(ctx, env, c.Count, bench.Pipeline)
}

type benchReceiptsCmd struct {
	benchFlags
	Count int `help:"Receipts of each side in a round." default:"20000" placeholder:"N"`
}

func (c *benchReceiptsCmd) Run(ctx context.Context, env *Env) error {
	return c.measure(ctx, env, c.Count, bench.Receipts)
}

type benchLatencyCmd struct {
	benchFlags
	Count   int           `help:"Codes of each phase." default:"400" placeholder:"N"`
	Pending int           `help:"Campaign messages that wait; 0: only the idle phase." default:"1000000" placeholder:"N"`
	Rate    int           `help:"Messages that the connection sends in a second." default:"100" placeholder:"N"`
	Every   time.Duration `help:"Time from one code to the next." default:"50ms" placeholder:"DURATION"`
}

func (c *benchLatencyCmd) Run(ctx context.Context, env *Env) error {
	switch {
	case c.Every <= 0:
		return &failure{code: exitUsage, text: "--every is the time from one code to the next, such as 50ms"}
	case c.Rate < 1 || c.Rate > mostRate:
		return &failure{code: exitUsage, text: fmt.Sprintf("--rate is from 1 to %d messages a second", mostRate)}
	case c.Pending < 0:
		return &failure{code: exitUsage, text: "--pending is a number of messages, or 0"}
	}
	return c.measure(ctx, env, c.Count, func(ctx context.Context, o bench.Options) (*bench.Report, error) {
		return bench.Latency(ctx, bench.LatencyOptions{Options: o, Pending: c.Pending, Rate: c.Rate, Every: c.Every})
	})
}

// mostRate is the highest rate that a connection may have.
const mostRate = 10_000

type benchGrowthCmd struct {
	benchFlags
	Count int `help:"Decisions of each side in a round." default:"20000" placeholder:"N"`
	Keys  int `help:"Keys that are stored." default:"10000000" placeholder:"N"`
}

func (c *benchGrowthCmd) Run(ctx context.Context, env *Env) error {
	return c.measure(ctx, env, c.Count, func(ctx context.Context, o bench.Options) (*bench.Report, error) {
		return bench.Growth(ctx, o, c.Keys)
	})
}

type benchStartCmd struct{ benchFlags }

func (c *benchStartCmd) Run(ctx context.Context, env *Env) error {
	return c.measure(ctx, env, 1, bench.Start)
}

type bareHandlerCmd struct{}

func (c *bareHandlerCmd) Run(ctx context.Context, env *Env) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-env.Signals
		cancel()
	}()
	return bench.ServeBare(ctx, func(address string) {
		_ = compact(env, map[string]any{"event": "ready", "listen": address}) // whoever started it is gone: it ends with the next signal
	})
}

// progressLine says on a terminal what is being measured, on one line that is written over.
type progressLine struct {
	env   *Env
	shown bool
}

func (p *progressLine) show(doing string, done, of int) {
	if !p.env.Terminal {
		return
	}
	if of > 0 {
		doing = fmt.Sprintf("%s %d %%", doing, 100*done/of)
	}
	_, _ = fmt.Fprintf(p.env.Stderr, "\r\x1b[K%s", doing)
	p.shown = true
}

func (p *progressLine) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
	"github.com/einmal/einmal/internal/provider/simulator"
)

type smscCmd struct {
	Listen   string        `help:"Address to listen on." default:"127.0.0.1:2775" placeholder:"HOST:PORT"`
	HTTP     string        `name:"http" help:"Address for the handsets' pages and calls, without keys and so on loopback alone." placeholder:"HOST:PORT"`
	Ledger   string        `help:"Where it writes what it took, a JSON object a line." type:"path" placeholder:"FILE"`
	NoEcho   bool          `help:"Do not send user_message_reference back in receipts."`
	SystemID string        `help:"What a bind must give as system_id; else any."`
	Password string        `help:"What a bind must give as password; else any." env:"EINMAL_SMSC_PASSWORD"`
	Binds    int           `help:"How many sessions of a system_id may be bound at a time; one more is refused as already bound. 0: any number." default:"0"`
	Slow     time.Duration `name:"slow-receipt" help:"How long the receipt of a number that ends in 10 takes." default:"20s"`
	JSON     bool          `name:"json" help:"Print the start line as JSON."`
}

func (c *smscCmd) Run(ctx context.Context, env *Env) (err error) {
	server := simulator.New(simulator.Config{
		Listen: c.Listen, LedgerPath: c.Ledger, Echo: !c.NoEcho, SystemID: c.SystemID, Password: c.Password, Binds: c.Binds,
		SlowReceipt: c.Slow,
	})
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	pages, err := c.listen()
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	if pages != nil {
		handsets := api.NewServer(api.NewPhones(server), slog.New(slog.DiscardHandler))
		defer handsets.Close() // nothing that it holds would be lost
		go func() { failed <- handsets.Serve(pages) }()
	}
	if err := c.announce(env, server, pages); err != nil {
		return err
	}
	select {
	case err = <-failed:
	case <-env.Signals:
	case <-ctx.Done():
	}
	return err
}

// listen takes the address of the pages, nil without one. Whoever reaches them sees every text, codes too.
func (c *smscCmd) listen() (net.Listener, error) {
	if c.HTTP == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(&failure{code: exitUsage,
			text: "--http: the handsets show every text to whoever reaches them: name an address of this machine, such as 127.0.0.1:8085"}, l.Close())
	}
	return l, nil
}

func (c *smscCmd) announce(env *Env, server *simulator.Server, pages net.Listener) error {
	at := ""
	if pages != nil {
		at = pages.Addr().String()
	}
	if c.JSON {
		return compact(env, struct {
			Event     string `json:"event"`
			Listen    string `json:"listen"`
			HTTP      string `json:"http,omitempty"`
			Simulated bool   `json:"simulated"`
		}{"ready", server.Addr(), at, true})
	}
	_, _ = fmt.Fprintf(env.Stdout, "simulated SMSC on %s; the last two digits of a destination choose what becomes of a message\n", server.Addr())
	if pages != nil {
		_, _ = fmt.Fprintf(env.Stdout, "handsets on http://%s/handset/NUMBER\n", at)
	}
	return nil
}

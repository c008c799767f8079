package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/doctor"
)

type doctorCmd struct {
	gatewayFlags
	Bind bool `help:"Bind to carriers that no gateway here is bound to. It may end the bind of a node that runs elsewhere."`
	JSON bool `name:"json" help:"Print JSON."`
}

// worst ends the program by the worst finding: these are not the exit codes of errors.
type worst int

func (w worst) Error() string { return "" }

func (c *doctorCmd) Run(ctx context.Context, env *Env) error {
	o := c.options(env)
	found := doctor.Examine(ctx, doctor.Options{Sources: app.Sources{File: o.Config, Environ: o.Environ, Flags: o.Flags}, Bind: c.Bind})
	level := doctor.Worst(found)
	if c.JSON {
		if err := compact(env, map[string]any{"level": level, "findings": found}); err != nil {
			return err
		}
	} else {
		show(env, found)
	}
	switch level {
	case doctor.Warn:
		return worst(1)
	case doctor.Fail:
		return worst(2)
	}
	return nil
}

func show(env *Env, found []doctor.Finding) {
	s := env.style()
	colours := map[doctor.Level]string{doctor.OK: s.good("ok  "), doctor.Warn: s.warn("warn"), doctor.Fail: s.bad("fail")}
	for _, f := range found {
		env.hanging(colours[f.Level]+"  ", clean(f.Check+": "+f.Text))
		if f.Next != "" {
			env.hanging("        next: ", clean(f.Next))
		}
	}
}

type healthCmd struct{ gatewayFlags }

// healthPatience is shorter than the time that supervisors give a probe.
const healthPatience = 3 * time.Second

// Run asks where a gateway of this configuration listens. Its certificate is not checked: nothing is sent to it, and
// what it answers is believed by whoever started it.
func (c *healthCmd) Run(ctx context.Context, env *Env) error {
	l, err := loaded(c.options(env))
	if err != nil {
		return err
	}
	here, _ := reachable(l.Listen.HTTP)
	url := (&Running{TLS: l.Listen.TLS.Cert != ""}).scheme() + here + "/readyz"
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return &failure{code: exitFailed, text: "no gateway answers at " + url}
	}
	defer func() { _ = res.Body.Close() }() // its status is all that counts
	if res.StatusCode != http.StatusOK {
		return &failure{code: exitFailed, text: fmt.Sprintf("the gateway is not ready: status %d", res.StatusCode), next: "einmal doctor"}
	}
	_, err = fmt.Fprintln(env.Stdout, "ready")
	return err
}

type backupCmd struct {
	File string `arg:"" help:"The copy; it must not be there yet."`
	gatewayFlags
}

func (c *backupCmd) Run(ctx context.Context, env *Env) error {
	l, err := loaded(c.options(env))
	if err != nil {
		return err
	}
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	if err := l.Backup(ctx, c.File); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s is a copy of the store as of %s. The keys are not in it: keep a copy of %s somewhere else.\n",
		clean(c.File), time.Now().UTC().Format(time.RFC3339), l.KeySource())
	return err
}

package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api"
)

// forTenantFlags are ofTenantFlags where the tenant must be named.
type forTenantFlags struct {
	Tenant string `required:"" help:"Of this tenant."`
	clientFlags
}

func (f *forTenantFlags) under(parts ...string) string {
	return (&ofTenantFlags{Tenant: f.Tenant}).under(parts...)
}

type senderCmd struct {
	List   senderListCmd   `cmd:"" help:"List what a tenant may send under."`
	Add    senderAddCmd    `cmd:"" help:"Register a sender of a tenant, or make one its default."`
	Remove senderRemoveCmd `cmd:"" help:"Take a sender away."`
}

type senderListCmd struct{ ofTenantFlags }

func (c *senderListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var senders api.Senders
	raw, err := gateway.get(ctx, c.under("senders"), &senders)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		_, err = env.Stdout.Write(raw)
		return err
	case len(senders.Data) == 0:
		_, _ = fmt.Fprintln(env.Stdout, "No sender is registered: a tenant sends under the gateway's default one then, the installation's own under any.")
		return nil
	}
	rows := [][]string{{"SENDER", "KIND", "DEFAULT", "REGISTERED (UTC)"}}
	for _, s := range senders.Data {
		rows = append(rows, []string{clean(s.Sender), clean(s.Kind), yesNo(s.Default), clock(s.CreatedAt)})
	}
	table(env.Stdout, rows)
	return nil
}

type senderAddCmd struct {
	Sender  string `arg:"" help:"A name of up to 11 characters, a short code, or a number with its country code."`
	Default bool   `help:"It becomes the sender of requests that name none."`
	forTenantFlags
}

func (c *senderAddCmd) Run(ctx context.Context, env *Env) error {
	var s api.NewSenderView
	done, err := c.change(ctx, env, http.MethodPost, c.under("senders"), given(map[string]any{"sender": c.Sender, "default": c.Default}),
		"run the same command again: it registers nothing twice", &s)
	if done || err != nil {
		return err
	}
	words, which := "is registered", ""
	if !s.Made {
		words = "was registered already"
	}
	if s.Default {
		which = ", and is the default"
	}
	_, _ = fmt.Fprintf(env.Stdout, "sender %s of %s %s%s\n", clean(s.Sender), clean(c.Tenant), words, which)
	return nil
}

type senderRemoveCmd struct {
	Sender string `arg:"" help:"As einmal sender list shows it."`
	forTenantFlags
}

func (c *senderRemoveCmd) Run(ctx context.Context, env *Env) error {
	var s api.SenderView
	done, err := c.change(ctx, env, http.MethodDelete, c.under("senders", c.Sender), nil, "einmal sender list --tenant "+clean(c.Tenant), &s)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "sender %s of %s is taken away\n", clean(s.Sender), clean(c.Tenant))
	return nil
}

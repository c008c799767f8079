package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/edge/api"
)

type walletCmd struct {
	Show    walletShowCmd    `cmd:"" help:"Show what a prepaid tenant has."`
	Entries walletEntriesCmd `cmd:"" help:"List what was paid in, and what was charged, the newest first."`
	Topup   walletTopUpCmd   `cmd:"" help:"Pay in for a tenant, or take back."`
	Limit   walletLimitCmd   `cmd:"" help:"Lift how much a tenant may spend, or set it, or how far down."`
	Verify  walletVerifyCmd  `cmd:"" help:"Prove that wallets, transfers and messages fit; 1 if they do not."`
}

// usd writes millionths of a dollar for people.
func usd(micro int64) string { return wallet.MicroUSD(micro).String() }

type walletShowCmd struct{ ofTenantFlags }

func (c *walletShowCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var v api.WalletView
	raw, err := gateway.get(ctx, c.under("wallet"), &v)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	tellWallet(env, &v)
	return nil
}

func tellWallet(env *Env, v *api.WalletView) {
	limit := "none"
	if v.Limit != nil && v.LimitLeft != nil {
		limit = usd(*v.Limit) + ", of which " + usd(*v.LimitLeft) + " are left"
	}
	if v.LimitAt != nil {
		limit += ", since " + clock(*v.LimitAt) + " UTC by " + clean(v.LimitBy) + ": " + clean(v.LimitWhy)
	}
	rows := [][]string{{"available", usd(v.Available)}, {"balance", usd(v.Balance)}, {"held", usd(v.Held)}, {"spent", usd(v.Spent)}, {"limit", limit}}
	if v.Floor != 0 {
		rows = append(rows, []string{"floor", usd(v.Floor)})
	}
	table(env.Stdout, rows)
}

type walletEntriesCmd struct{ ofTenantFlags }

func (c *walletEntriesCmd) Run(ctx context.Context, env *Env) error {
	return showAll(ctx, env, &c.clientFlags, c.under("wallet", "entries"), "Nothing was paid in, and nothing charged.",
		[]string{"AT (UTC)", "KIND", "AMOUNT", "HELD", "WHAT"}, func(e api.EntryView) []string {
			held, what := "-", clean(e.Reference)
			if e.Cost != nil {
				held, what = usd(e.Cost.Held), clean(e.ID)
			} else if e.Reason != "" {
				what += ": " + clean(e.Reason)
			}
			return []string{clock(e.At), clean(e.Kind), usd(e.Amount), held, what}
		})
}

// dollars is an amount as people give it.
type dollars struct{ wallet.MicroUSD }

// UnmarshalText reads it from a flag.
func (d *dollars) UnmarshalText(text []byte) (err error) {
	m, ok := wallet.ParseUSD(string(text))
	if !ok {
		return fmt.Errorf("%q is no amount: write US dollars, such as 50 or 0.0075", clean(string(text)))
	}
	d.MicroUSD = m
	return nil
}

type walletTopUpCmd struct {
	USD       dollars `name:"usd" required:"" help:"In US dollars, such as 50; negative to take back, as --usd=-5."`
	Reference string  `required:"" help:"Your own, of this payment alone, such as the invoice's number."`
	Reason    string  `required:"" help:"Why; it is kept."`
	forTenantFlags
}

func (c *walletTopUpCmd) Run(ctx context.Context, env *Env) error {
	var p api.PaymentView
	done, err := c.change(ctx, env, http.MethodPost, c.under("topups"), map[string]any{"amount_micro_usd": c.USD.MicroUSD, "reference": c.Reference, "reason": c.Reason},
		"run the same command again: one reference is paid once", &p)
	if done || err != nil {
		return err
	}
	words := "is stored"
	if !p.Made {
		words = "was stored before"
	}
	_, _ = fmt.Fprintf(env.Stdout, "payment %s of %s for %s (%s) %s\n", clean(p.ID), usd(p.Amount), clean(c.Tenant), clean(p.Reference), words)
	return nil
}

type walletLimitCmd struct {
	Lift  bool     `xor:"limit" help:"There is no limit any more."`
	USD   *dollars `name:"usd" xor:"limit" help:"In place of --lift: how much it may spend and hold together since it was made."`
	Floor *dollars `name:"floor" help:"Beside one of those or alone: how far down what it has may go; credit as --floor=-100, a reserve as --floor=10."`
	personFlags
	forTenantFlags
}

func (c *walletLimitCmd) Run(ctx context.Context, env *Env) error {
	if !c.Lift && c.USD == nil && c.Floor == nil {
		return &failure{code: exitUsage, text: "say what is to change: --lift or --usd, --floor, or both"}
	}
	body := map[string]any{"by": c.By, "reason": c.Reason}
	if c.Lift {
		body["lift"] = true
	}
	for name, amount := range map[string]*dollars{"limit_micro_usd": c.USD, "floor_micro_usd": c.Floor} {
		if amount != nil {
			body[name] = amount.MicroUSD
		}
	}
	var v api.WalletView
	done, err := c.change(ctx, env, http.MethodPost, c.under("limit"), body, "einmal wallet show --tenant "+clean(c.Tenant), &v)
	if done || err != nil {
		return err
	}
	tellWallet(env, &v)
	return nil
}

type walletVerifyCmd struct{ clientFlags }

func (c *walletVerifyCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	gateway.http.Timeout = 0 // it reads everything there is
	var p api.WalletProofView
	raw, err := gateway.get(ctx, "/v1/wallets/verify", &p)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
	} else {
		tellProof(env, &p)
	}
	if err == nil && p.Differences > 0 {
		return &failure{code: exitFailed, text: fmt.Sprintf("%d differences between wallets, transfers and messages", p.Differences),
			next: "einmal wallet entries --tenant TENANT, and einmal timeline of the messages named"}
	}
	return err
}

func tellProof(env *Env, p *api.WalletProofView) {
	for _, d := range p.Data {
		about := "tenant " + clean(d.Tenant)
		if d.Message != nil {
			about += ", " + clean(*d.Message)
		}
		_, _ = fmt.Fprintf(env.Stdout, "%s: %s\n", about, clean(d.Detail))
	}
	gone := ""
	if p.Gone > 0 {
		gone = fmt.Sprintf(" Of %d charges the messages are not kept any more; they count in the sums.", p.Gone)
	}
	_, _ = fmt.Fprintf(env.Stdout, "At %s UTC: %d wallets, %d messages that cost something, %d transfers, %d differences.%s\n",
		clock(p.At), p.Wallets, p.Messages, p.Transfers, p.Differences, gone)
}

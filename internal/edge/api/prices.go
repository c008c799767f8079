package api

import (
	"context"
	"fmt"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
)

// PriceView is what a part costs to destinations that begin with a prefix.
type PriceView struct {
	Tenant *string `json:"tenant" doc:"Whose price it is; null: everybody's who has no price of their own for the destination."`
	Prefix string  `json:"prefix" doc:"Digits of the number with its country code, without a plus sign; empty: every destination. The longest that fits counts." example:"49"`
	Price  int64   `json:"micro_usd" doc:"Of a part, in millionths of a US dollar." example:"75000"`
	From   string  `json:"from" format:"date-time" doc:"From when on. The last one that has begun counts."`
}

// Prices is the whole price list.
type Prices struct {
	Data []PriceView `json:"data" nullable:"false"`
	Next *string     `json:"next" doc:"Always null: all prices are on the page."`
}

func (a *API) listPrices(ctx context.Context, _ *struct{}) (Prices, error) {
	names, err := a.cfg.Store.TenantNames(ctx)
	if err != nil {
		return Prices{}, err
	}
	found, err := a.cfg.Store.Prices(ctx)
	all := Prices{Data: make([]PriceView, 0, len(found))}
	for _, p := range found {
		all.Data = append(all.Data, PriceView{orNull(names[p.Tenant]), p.Prefix, int64(p.PerPart), at(p.From)})
	}
	return all, err
}

type (
	pricesBody struct {
		Data []priceBody `json:"data" nullable:"false" doc:"The whole list: what is not in it is no price any more."`
	}
	priceBody struct {
		Tenant string `json:"tenant,omitempty" doc:"A tenant's name; left out: everybody's."`
		Prefix string `json:"prefix" example:"49"`
		Price  int64  `json:"micro_usd" example:"75000"`
		From   string `json:"from,omitempty" format:"date-time" doc:"Left out: from now on."`
	}
)

const (
	rightPrices = "the whole list, each with prefix and micro_usd, and where they are needed tenant and from"
	rightPrefix = "digits of a number with its country code, which begins with no 0, at most 15; empty for every destination"
	rightPrice  = "what a part costs, in millionths of a US dollar, 0 or more"
)

func (a *API) setPrices(ctx context.Context, in *smallIn) (Prices, error) {
	names, err := a.cfg.Store.TenantNames(ctx)
	if err != nil {
		return Prices{}, err
	}
	byName := map[string]ident.Partition{}
	for id, name := range names {
		byName[name] = id
	}
	var all []wallet.Price
	err = decodeUpTo(maxPrices, in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"data", func(v strictjson.Value, pointer string) { all = d.prices(v, pointer, byName) }}}
	}, needed{"data", rightPrices})
	if err != nil {
		return Prices{}, err
	}
	if err := a.cfg.Store.SetPrices(ctx, all); err != nil {
		return Prices{}, err
	}
	a.changed(ctx)
	a.cfg.Log.Warn("the prices were replaced", "prices", len(all), "key", principalOf(ctx).Key)
	return a.listPrices(ctx, nil)
}

func (d *decoder) prices(v strictjson.Value, pointer string, tenants map[string]ident.Partition) []wallet.Price {
	if !d.is(v, pointer, strictjson.Array) {
		return nil
	}
	all := make([]wallet.Price, 0, len(v.Elements))
	seen := map[wallet.Price]bool{}
	for i, e := range v.Elements {
		place := fmt.Sprintf("%s/%d", pointer, i)
		p, ok := d.price(e, place, tenants)
		if !ok {
			continue
		}
		key := wallet.Price{Tenant: p.Tenant, Prefix: p.Prefix, From: p.From}
		if seen[key] {
			d.wrong(place, "there is a price of this tenant, prefix and time before it")
		}
		seen[key] = true
		all = append(all, p)
	}
	return all
}

func (d *decoder) price(v strictjson.Value, place string, tenants map[string]ident.Partition) (p wallet.Price, ok bool) {
	if !d.is(v, place, strictjson.Object) {
		return p, false
	}
	before := len(d.fields)
	var tenant, prefix string
	var from clock.Micros
	d.members(v, place, members{
		{"tenant", d.text(&tenant)}, {"prefix", d.text(&prefix)}, {"micro_usd", d.money(&p.PerPart)}, {"from", d.time(&from)},
	})
	for _, m := range []needed{{"prefix", rightPrefix}, {"micro_usd", rightPrice}} {
		if !has(v, m.name) {
			d.wrong(place+"/"+m.name, "missing: %s", m.right)
		}
	}
	digits, right := wallet.Prefix(prefix)
	if !right {
		d.wrong(place+"/prefix", "write %s", rightPrefix)
	}
	if p.PerPart < 0 {
		d.wrong(place+"/micro_usd", "write %s", rightPrice)
	}
	id, there := tenants[tenant]
	if tenant != "" && !there {
		d.wrong(place+"/tenant", "there is no tenant of this name")
	}
	p.Tenant, p.Prefix, p.From = id, digits, from
	return p, len(d.fields) == before
}

// has reports whether an object has a member.
func has(v strictjson.Value, name string) bool {
	for _, m := range v.Members {
		if m.Name == name {
			return true
		}
	}
	return false
}

package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

// What belongs to a tenant is administered at two places: a tenant's own keys see and change it under /v1, and those of
// the installation under /v1/tenants/{tenant}. Both run the same handlers; who is meant is settled before.

type subjectKey struct{}

// subjectOf is the tenant that a call is about: the one that its path names, else the caller's own.
func subjectOf(ctx context.Context) ident.Partition {
	if named, ok := ctx.Value(subjectKey{}).(ident.Partition); ok {
		return named
	}
	return principalOf(ctx).Tenant
}

// errOperator hides from tenants what belongs to those who run the installation.
var errOperator = fault.New(fault.NotFound, "this belongs to the installation: a key of its own tenant is needed")

// operator lets keys of the installation's own tenant through, and finds the tenant that the path names.
func (a *API) operator(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	err := error(nil)
	if name := r.PathValue("tenant"); principalOf(ctx.Context()).Tenant != a.cfg.Installation {
		err = errOperator
	} else if name != "" {
		t, missing := a.cfg.Store.TenantByName(ctx.Context(), name)
		ctx, err = huma.WithValue(ctx, subjectKey{}, t.ID), missing
	}
	if err != nil {
		a.report(ctx.Operation().Path, err)
		writeProblem(w, err)
		return
	}
	next(ctx)
}

// ofTenant makes an operation one of the installation's, about the tenant that its path names.
func (a *API) ofTenant(o huma.Operation) huma.Operation {
	o.Middlewares = append(o.Middlewares, a.operator)
	o.Parameters = append(o.Parameters, &huma.Param{
		Name: "tenant", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}, Description: "The tenant's name.", Example: "acme",
	})
	return o
}

// both registers an operation for a tenant's own keys, and for the installation's.
func both[In, Out any](a *API, own huma.Operation, scope Scope, handle func(context.Context, *In) (Out, error)) {
	add(a, own, scope, handle)
	theirs(a, own, handle)
}

// reviewed registers one that takes a person's word, for a tenant's own keys and for the installation's reviewers.
func reviewed[In, Out any](a *API, own huma.Operation, handle func(context.Context, *In) (Out, error)) {
	add(a, own, ScopeReview, handle)
	theirsFor(a, own, ScopeReview, handle)
}

// theirs registers an operation for the installation's keys alone, at the place of the tenant that it is about.
func theirs[In, Out any](a *API, own huma.Operation, handle func(context.Context, *In) (Out, error)) {
	theirsFor(a, own, ScopeAdmin, handle)
}

func theirsFor[In, Out any](a *API, own huma.Operation, scope Scope, handle func(context.Context, *In) (Out, error)) {
	const under = len("/v1")
	o := own
	o.Path, o.OperationID, o.Summary = "/v1/tenants/{tenant}"+own.Path[under:], "tenant-"+own.OperationID, own.Summary+"; of a tenant"
	add(a, a.ofTenant(o), scope, handle)
}

// made is an operation whose success is 201.
func made(o huma.Operation) huma.Operation {
	o.DefaultStatus = http.StatusCreated
	return o
}

// by names who does something, for those who look at it later: people of the tenant by name, those who run the
// installation by their key alone.
func by(ctx context.Context) string {
	who, person := principalOf(ctx), Operator
	if subjectOf(ctx) == who.Tenant {
		person = who.Person
	}
	return person + ", key " + who.Key
}

// changed puts what was changed in force on this node at once. The change is durable: whatever is wrong now is made
// good within a second, as on every other node.
func (a *API) changed(ctx context.Context) {
	a.keyring.forget()
	a.cfg.Changed(ctx)
}

// smallIn is a request with a small JSON body.
type smallIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

// smallOneIn is one about the thing that the path names.
type smallOneIn struct {
	ID          string `path:"id"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

// longestName is the longest name or label for people, in bytes.
const longestName = 100

// named refuses what cannot stand for somebody in lists.
func (d *decoder) named(pointer, text string) {
	d.shown(pointer, text)
	if len(text) > longestName && len(text) <= longestShown {
		d.wrong("#/"+pointer, "too long: at most %d bytes", longestName)
	}
}

// oneOf reads a word of a closed list.
func oneOf[T comparable](d *decoder, into *T, parse func(string) T, words []string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		var none T
		if *into = parse(v.Text); *into == none {
			d.wrong(pointer, "write one of %s", fault.List(words))
		}
	}
}

// optional reads a text that may be null, which is read as nothing.
func (d *decoder) optional(into **string) memberReader {
	return func(v strictjson.Value, pointer string) {
		var text string
		if v.Kind == strictjson.Null || d.is(v, pointer, strictjson.String) {
			if v.Kind != strictjson.Null {
				text = v.Text
			}
			*into = &text
		}
	}
}

// e164 reads a number with its country code.
func (d *decoder) e164(pointer, raw string) string {
	n, err := phone.Parse(raw, "")
	if err != nil {
		d.wrong(pointer, "%s", err)
	}
	return n.E164()
}

// scopes reads what a key or a user may do.
func (d *decoder) scopes(pointer string, names []string) Scopes {
	scopes, err := CheckScopes(names)
	if err != nil {
		d.wrong(pointer, "%s", err)
	}
	return scopes
}

// words are the scopes as they are shown.
func (s Scopes) words() []string {
	words := make([]string, len(s))
	for i, scope := range s {
		words[i] = fmt.Sprint(scope)
	}
	return words
}

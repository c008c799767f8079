package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/einmal/einmal/internal/edge/api"
)

// ofTenantFlags say at whose place something is administered.
type ofTenantFlags struct {
	Tenant string `help:"Of this tenant (with an admin key of the installation); else of the key's own."`
	clientFlags
}

// under is the path of what the tenant has.
func (f *ofTenantFlags) under(parts ...string) string {
	path := "/v1"
	if f.Tenant != "" {
		path += "/tenants/" + url.PathEscape(f.Tenant)
	}
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// whose names the tenant in sentences; "": the key's own.
func (f *ofTenantFlags) whose() string {
	if f.Tenant == "" {
		return ""
	}
	return " of " + clean(f.Tenant)
}

// change asks for a change and decodes the answer; with --json it prints that, and done is true. next is what shows whether
// a change was made whose answer was lost.
func (f *clientFlags) change(ctx context.Context, env *Env, method, path string, body map[string]any, next string, into any) (done bool, err error) {
	gateway, err := f.client(env)
	if err != nil {
		return false, err
	}
	var raw []byte
	if body != nil {
		if raw, err = json.Marshal(body); err != nil {
			return false, err
		}
	}
	a, err := gateway.do(ctx, method, path, raw, nil)
	if err != nil {
		return false, unlost(err, next)
	}
	if f.JSON {
		_, err = env.Stdout.Write(a.body)
		return true, err
	}
	return false, json.Unmarshal(a.body, into)
}

// given leaves out of a body what was not given.
func given(body map[string]any) map[string]any {
	for name, value := range body {
		if value == "" || value == false {
			delete(body, name)
		}
	}
	return body
}

// pages reads all pages of a list.
func pages[T any](ctx context.Context, gateway *client, path string) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		var page api.List[T]
		if _, err := gateway.get(ctx, path+"?limit=200"+after, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if page.Next == nil {
			return all, nil
		}
		after = "&after=" + url.QueryEscape(*page.Next)
	}
}

// showAll prints a list that has pages: as JSON, or a row for each entry under a head.
func showAll[T any](ctx context.Context, env *Env, f *clientFlags, path, none string, head []string, row func(T) []string) error {
	gateway, err := f.client(env)
	if err != nil {
		return err
	}
	all, err := pages[T](ctx, gateway, path)
	if err != nil {
		return err
	}
	if f.JSON {
		return compact(env, map[string]any{"data": all, "next": nil})
	}
	if len(all) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, none)
		return nil
	}
	rows := [][]string{head}
	for _, one := range all {
		rows = append(rows, row(one))
	}
	table(env.Stdout, rows)
	return nil
}

// orDash is a text that may be missing.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return clean(*s)
}

// clockOrDash is a time that may be missing.
func clockOrDash(s *string) string {
	if s == nil {
		return "-"
	}
	return clock(*s)
}

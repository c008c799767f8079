package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/wallet"
	"github.com/einmal/einmal/internal/edge/api"
)

type priceCmd struct {
	List priceListCmd `cmd:"" help:"List what parts cost."`
	Set  priceSetCmd  `cmd:"" help:"Replace what parts cost by a CSV file."`
}

type priceListCmd struct {
	CSV bool `name:"csv" help:"As a file for einmal price set."`
	clientFlags
}

func (c *priceListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var all api.Prices
	raw, err := gateway.get(ctx, "/v1/prices", &all)
	switch {
	case err != nil:
		return err
	case c.JSON:
		_, err = env.Stdout.Write(raw)
		return err
	case c.CSV:
		return writePrices(env.Stdout, all.Data)
	case len(all.Data) == 0:
		_, _ = fmt.Fprintln(env.Stdout, "There are no prices: prepaid tenants are refused everywhere.")
		return nil
	}
	rows := [][]string{{"TENANT", "PREFIX", "PART", "FROM (UTC)"}}
	for _, p := range all.Data {
		prefix := p.Prefix
		if prefix == "" {
			prefix = "any"
		}
		rows = append(rows, []string{orDash(p.Tenant), clean(prefix), usd(p.Price), clock(p.From)})
	}
	table(env.Stdout, rows)
	return nil
}

// priceColumns are those of a price list.
var priceColumns = []string{"tenant", "prefix", "usd", "from"}

func writePrices(w io.Writer, all []api.PriceView) error {
	out := csv.NewWriter(w)
	rows := [][]string{priceColumns}
	for _, p := range all {
		tenant := ""
		if p.Tenant != nil {
			tenant = *p.Tenant
		}
		rows = append(rows, []string{tenant, p.Prefix, strings.TrimSuffix(usd(p.Price), " USD"), p.From})
	}
	return out.WriteAll(rows)
}

type priceSetCmd struct {
	File string `arg:"" help:"CSV with a head: prefix and usd, and where they are needed tenant and from. What is not in it is no price any more."`
	clientFlags
}

func (c *priceSetCmd) Run(ctx context.Context, env *Env) error {
	file, err := os.Open(c.File)
	if err != nil {
		return &failure{code: exitUsage, text: "the price list cannot be read: " + clean(err.Error())}
	}
	defer file.Close() // it was read
	rows, err := readPrices(file)
	if err != nil {
		return &failure{code: exitUsage, text: clean(c.File + ": " + err.Error()), next: "einmal price list --csv shows the form"}
	}
	var all api.Prices
	done, err := c.change(ctx, env, http.MethodPut, "/v1/prices", map[string]any{"data": rows}, "einmal price list", &all)
	if done || err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Stdout, "%d prices are in force\n", len(all.Data))
	return nil
}

// readPrices reads a price list; errors name the line.
func readPrices(r io.Reader) ([]map[string]any, error) {
	in := csv.NewReader(r)
	in.TrimLeadingSpace = true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("no head: its first line names the columns, of %s: %w", strings.Join(priceColumns, ", "), err)
	}
	for _, name := range head {
		if !slices.Contains(priceColumns, name) {
			return nil, fmt.Errorf("line 1: the column %q is none of %s", name, strings.Join(priceColumns, ", "))
		}
	}
	for _, name := range []string{"prefix", "usd"} {
		if !slices.Contains(head, name) {
			return nil, fmt.Errorf("line 1: the column %s is missing", name)
		}
	}
	rows := []map[string]any{}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		row, err := priceRow(head, fields)
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		rows = append(rows, row)
	}
}

func priceRow(head, fields []string) (map[string]any, error) {
	row := map[string]any{}
	for i, name := range head {
		switch value := strings.TrimSpace(fields[i]); {
		case name == "usd":
			m, ok := wallet.ParseUSD(value)
			if !ok {
				return nil, fmt.Errorf("%q is no amount: write US dollars, such as 0.0075", value)
			}
			row["micro_usd"] = m
		case name == "prefix" || value != "":
			row[name] = value
		}
	}
	return row, nil
}

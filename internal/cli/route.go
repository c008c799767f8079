package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/einmal/einmal/internal/edge/api"
)

type routeCmd struct {
	List routeListCmd `cmd:"" help:"List the routes in their order: the first that fits a message counts."`
	Set  routeSetCmd  `cmd:"" help:"Replace the routes by those of a file, on all nodes."`
}

type routeListCmd struct{ clientFlags }

func (c *routeListCmd) Run(ctx context.Context, env *Env) error {
	var v api.RoutesView
	done, err := c.change(ctx, env, http.MethodGet, "/v1/routes", nil, "run the same command again", &v)
	if done || err != nil {
		return err
	}
	return tellRoutes(env, &v)
}

func tellRoutes(env *Env, v *api.RoutesView) error {
	if len(v.Rules) == 0 {
		_, _ = fmt.Fprintln(env.Stdout, "There are no routes: all messages leave over the connection of the configuration.")
		return nil
	}
	any := func(s string) string {
		if s == "" {
			return "any"
		}
		return clean(s)
	}
	rows := [][]string{{"PURPOSE", "TENANT", "PREFIX", "SENDER", "USE"}}
	for _, r := range v.Rules {
		rows = append(rows, []string{any(r.Purpose), any(r.Tenant), any(r.Prefix), any(r.Sender), clean(strings.Join(r.Use, ", "))})
	}
	table(env.Stdout, rows)
	return nil
}

type routeSetCmd struct {
	File string `arg:"" help:"YAML with the member routes, as in the configuration file; - for stdin. An empty list leads all messages over the connection of the configuration."`
	clientFlags
}

// routeLine is a rule of the file. A prefix may be written as a number.
type routeLine struct {
	Purpose string   `yaml:"purpose"`
	Tenant  string   `yaml:"tenant"`
	Prefix  string   `yaml:"prefix"`
	Sender  string   `yaml:"sender"`
	Use     []string `yaml:"use"`
}

func (c *routeSetCmd) Run(ctx context.Context, env *Env) error {
	rules, err := c.rules(env)
	if err != nil {
		return err
	}
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var before, v api.RoutesView
	if _, err := gateway.get(ctx, "/v1/routes", &before); err != nil {
		return err
	}
	body := map[string]any{"version": before.Version, "rules": rules}
	done, err := c.change(ctx, env, http.MethodPut, "/v1/routes", body, "einmal route list   (shows whether they were replaced)", &v)
	if done || err != nil {
		return err
	}
	return tellRoutes(env, &v)
}

func (c *routeSetCmd) rules(env *Env) ([]api.RouteView, error) {
	read := func() ([]byte, error) { return os.ReadFile(c.File) }
	if c.File == "-" {
		read = func() ([]byte, error) { return io.ReadAll(env.Stdin) }
	}
	text, err := read()
	if err != nil {
		return nil, &failure{code: exitUsage, text: "the file with the routes cannot be read: " + err.Error()}
	}
	var file struct {
		Routes *[]routeLine `yaml:"routes"`
	}
	if err = yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err == nil && file.Routes == nil {
		err = errors.New("write  routes:  and below it a list of rules, such as  - {use: [carrier_a]}")
	}
	if err != nil {
		return nil, &failure{code: exitUsage, text: "the file is no list of routes: " + yaml.FormatError(err, false, false),
			next: "write YAML as in the configuration file:  routes:  and below it rules, such as  - {prefix: 49, use: [carrier_a]} ; {version, rules} is the API's form, for PUT /v1/routes"}
	}
	rules := []api.RouteView{}
	for _, r := range *file.Routes {
		rules = append(rules, api.RouteView(r))
	}
	return rules, nil
}

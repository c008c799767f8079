package cli

import (
	"fmt"

	"github.com/einmal/einmal/internal/ground/settings"
)

type configCmd struct {
	gatewayFlags
	Variables bool `help:"List the environment variables instead, with what each sets."`
	JSON      bool `name:"json" help:"Print JSON: a list of members with value and origin."`
}

// Run prints the configuration as a file, each value with the place that it comes from.
func (c *configCmd) Run(env *Env) error {
	o := c.options(env)
	if c.Variables { // they are asked for when one of them is wrong
		o.Environ = nil
	}
	shown, err := env.App.Config(o)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return compact(env, shown)
	case c.Variables:
		rows := [][]string{{"VARIABLE", "MEMBER", "WHAT IT SAYS"}}
		for _, v := range shown {
			if v.Env != "" {
				rows = append(rows, []string{v.Env, clean(v.Member), v.Doc})
			}
		}
		table(env.Stdout, rows)
		return nil
	}
	_, err = fmt.Fprint(env.Stdout, settings.YAML(shown))
	return err
}

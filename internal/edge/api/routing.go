package api

import (
	"context"
	"fmt"
	"strconv"

	"github.com/einmal/einmal/internal/edge/api/strictjson"
)

// RouteView is a rule of the routes. What is left out fits all messages.
type RouteView struct {
	Purpose string   `json:"purpose,omitempty"`
	Tenant  string   `json:"tenant,omitempty" doc:"The tenant's name."`
	Prefix  string   `json:"prefix,omitempty" doc:"How destinations begin in E.164, without the plus sign." example:"49"`
	Sender  string   `json:"sender,omitempty"`
	Use     []string `json:"use" nullable:"false" doc:"Names of connections, the one that is wanted most first: the first one that is enabled and not paused takes the message."`
}

// RoutesView are the routes in force on the node that answers.
type RoutesView struct {
	From      string      `json:"from" doc:"Where they are: api; file, the configuration file of this node, which alone changes them; or default: there are none, and all messages leave over the connection of the configuration. Accept unknown values."`
	Rules     []RouteView `json:"rules" nullable:"false" doc:"In their order: the first that fits a message counts."`
	Version   int64       `json:"version" doc:"Counts the changes through the API: give it with the next one."`
	ChangedAt *string     `json:"changed_at" format:"date-time"`
	ChangedBy string      `json:"changed_by,omitempty"`
}

func (a *API) getRoutes(ctx context.Context, _ *struct{}) (RoutesView, error) {
	return a.cfg.Connections.Routes(ctx)
}

type routesBody struct {
	Rules   []RouteView `json:"rules" nullable:"false" doc:"The last one fits every message. None at all: all leave over the connection of the configuration."`
	Version int64       `json:"version" doc:"That of the routes which these replace: another one is 409."`
}

const (
	rightRules   = `a list, such as [{"purpose": "login_code", "use": ["carrier_a"]}, {"use": ["carrier_b"]}]`
	rightVersion = "that of the routes which these replace: GET /v1/routes shows it"
	rightUse     = `names of connections, such as ["carrier_a"]`
)

func (a *API) putRoutes(ctx context.Context, in *smallIn) (RoutesView, error) {
	var rules []RouteView
	var version *int64
	err := decodeSmall(in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"rules", d.rules(&rules)}, {"version", d.count(&version)}}
	}, needed{"rules", rightRules}, needed{"version", rightVersion})
	if err == nil {
		err = a.cfg.Connections.PutRoutes(ctx, rules, *version, by(ctx))
	}
	if err != nil {
		return RoutesView{}, err
	}
	a.changed(ctx)
	return a.getRoutes(ctx, nil)
}

func (d *decoder) rules(into *[]RouteView) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.Array) {
			return
		}
		for i, item := range v.Elements {
			var r RouteView
			here := strictjson.Step(pointer, fmt.Sprint(i))
			if d.is(item, here, strictjson.Object) {
				d.members(item, here, members{
					{"purpose", d.text(&r.Purpose)}, {"tenant", d.text(&r.Tenant)}, {"prefix", d.text(&r.Prefix)}, {"sender", d.text(&r.Sender)}, {"use", d.list(&r.Use)},
				})
			}
			*into = append(*into, r)
		}
	}
}

// count reads a whole number that may be left out.
func (d *decoder) count(into **int64) memberReader {
	return func(v strictjson.Value, pointer string) {
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if v.Kind != strictjson.Number || err != nil || n < 0 {
			d.wrong(pointer, "expected a whole number, such as 3")
		}
		*into = &n
	}
}
